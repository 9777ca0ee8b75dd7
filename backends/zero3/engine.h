#pragma once

#include <memory>

#include "backends/runtime/model/stage.h"
#include "backends/runtime/step/engine.h"
#include "backends/runtime/step/replicas.h"
#include "backends/runtime/step/update.h"
#include "backends/zero3/mode.h"
#include "backends/zero3/sharding.h"
#include "backends/zero3/units.h"

namespace orch::zero3 {

// Data parallelism with sharded states: those of the optimizer (stage 1), gradients too (2),
// weights too (3), over all replicas or over groups of them that mirror each other.
class Zero3Engine : public train::Engine {
 public:
  // All must outlive the engine. Weights are random until load() replaces them.
  Zero3Engine(const plan::Run& config, train::World& world, train::Profile& profile);

  train::StepResult step(const train::StepBatch& batch, const data::Dataset& dataset) override;
  double evaluate(const data::Dataset& dataset, std::int64_t first, std::int64_t count) override;
  checkpoint::SavedState save(checkpoint::CheckpointFacts& facts) override;
  void load(const checkpoint::CheckpointReader& from, train::LoadScope what) override;
  void finish() override;
  std::map<std::string, std::string> effective() const override;
  std::map<std::string, double> memory_items() const override;

 private:
  struct Groups {
    train::CommGroup* gather = nullptr;    // for weights
    train::CommGroup* scatter = nullptr;   // for gradients: runs in parallel to gathers
    train::CommGroup* replicas = nullptr;  // between mirror groups; null: there is only one
  };
  static Groups make_groups(train::Mesh& mesh, const Mode& mode);

  bool is_sharded() const { return mode_.shard_ranks > 1; }
  train::ParameterOptions parameter_options() const;
  train::OptimizerOptions optimizer_options() const;
  train::ModelOptions model_options();
  at::Tensor forward_backward(const train::StepBatch& batch, const data::Dataset& dataset);
  void reduce();

  const plan::Run config_;
  train::Profile& profile_;
  train::Mesh mesh_;
  const Mode mode_;
  const Groups groups_;
  const std::vector<train::BucketRange> units_;
  train::Parameters parameters_;
  train::Replicas replicas_;
  std::unique_ptr<Sharding> weights_, gradients_;
  train::Stage model_;
  train::Update update_;
};

}  // namespace orch::zero3
