#pragma once

#include <memory>

#include "backends/ddp/reducer.h"
#include "backends/runtime/comm/mesh.h"
#include "backends/runtime/model/profile.h"
#include "backends/runtime/model/stage.h"
#include "backends/runtime/step/engine.h"
#include "backends/runtime/step/replicas.h"
#include "backends/runtime/step/update.h"

namespace orch::ddp {

// Data parallelism: the whole model on every rank, gradients averaged once per step.
class DdpEngine : public train::Engine {
 public:
  // All must outlive the engine. Weights are random until load() replaces them.
  DdpEngine(const plan::Run& config, train::World& world, train::Profile& profile);

  train::StepResult step(const train::StepBatch& batch, const data::Dataset& dataset) override;
  double evaluate(const data::Dataset& dataset, std::int64_t first, std::int64_t count) override;
  checkpoint::SavedState save(checkpoint::CheckpointFacts& facts) override;
  void load(const checkpoint::CheckpointReader& from, train::LoadScope what) override;
  std::map<std::string, std::string> effective() const override;
  std::map<std::string, double> memory_items() const override;

 private:
  at::Tensor forward_backward(const train::StepBatch& batch, const data::Dataset& dataset);
  void load_powersgd(const checkpoint::CheckpointReader& from);
  void rescale_errors(double ratio);

  const plan::Run config_;
  train::World& world_;
  train::Profile& profile_;
  train::Mesh mesh_;
  train::Parameters parameters_;
  train::Replicas replicas_;
  train::Stage model_;
  train::Update update_;
  CompressingReducer reducer_;
};

}  // namespace orch::ddp
