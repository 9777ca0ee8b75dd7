#pragma once

#include <functional>
#include <memory>

#include "backends/runtime/model/parameters.h"
#include "backends/runtime/step/engine.h"
#include "backends/runtime/step/optimizer.h"
#include "core/plan/run.h"

namespace orch::train {

// The end of a step: skips it, or clips gradients and updates the weights; and keeps the loss scale.
// All ranks decide alike, since they are given the same norm.
class Update {
 public:
  // All outlive it.
  Update(const plan::Run& run, Parameters& parameters, OptimizerOptions options = {});

  double loss_scale() const { return loss_scale_.scale(); }
  Optimizer& optimizer() { return *optimizer_; }
  const Optimizer& optimizer() const { return *optimizer_; }

  // norm: of all gradients, times the loss scale. Fills the result in. Throws Failed("nan") where
  // neither a skipped step nor a smaller scale helps.
  void apply(const StepBatch& batch, double norm, StepResult& result);
  // Told by how much the loss scale has changed.
  std::function<void(double ratio)> on_rescale;

  void save(checkpoint::Facts& facts) const;
  void load(const checkpoint::Facts& facts);

 private:
  const plan::Training training_;
  LossScale loss_scale_;
  const bool deferred_;
  std::unique_ptr<Optimizer> optimizer_;
  std::int64_t updates_ = 0;  // steps that were not skipped
};

}  // namespace orch::train
