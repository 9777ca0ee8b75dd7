#pragma once

#include "backends/megatron/pipeline.h"
#include "backends/runtime/step/engine.h"
#include "backends/runtime/step/reducer.h"
#include "backends/runtime/step/replicas.h"
#include "backends/runtime/step/update.h"
#include "backends/runtime/step/weight_gather.h"

namespace orch::megatron {

// Tensor, pipeline and data parallelism, with the optimizer on every replica or sharded (ZeRO-1).
class MegatronEngine : public train::Engine {
 public:
  // All must outlive the engine. Weights are random until load() replaces them.
  MegatronEngine(const plan::Run& config, train::World& world, train::Profile& profile);

  train::StepResult step(const train::StepBatch& batch, const data::Dataset& dataset) override;
  double evaluate(const data::Dataset& dataset, std::int64_t first, std::int64_t count) override;
  checkpoint::SavedState save(checkpoint::CheckpointFacts& facts) override;
  void load(const checkpoint::CheckpointReader& from, train::LoadScope what) override;
  void finish() override;
  std::map<std::string, std::string> effective() const override;
  std::map<std::string, double> memory_items() const override;

 private:
  Pipeline::Read reader(const data::Dataset& dataset, std::int64_t first, std::int64_t step) const;
  void gather_weights(bool overlapped);

  const plan::Run config_;
  train::Profile& profile_;
  train::Mesh mesh_;
  const bool sharded_;
  std::vector<train::BucketRange> buckets_;
  train::Parameters parameters_;
  train::Replicas replicas_;
  train::Update update_;
  train::WeightGather gather_;
  Pipeline pipeline_;
  train::Reducer reducer_;
};

}  // namespace orch::megatron
