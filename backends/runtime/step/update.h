#pragma once

#include <functional>
#include <memory>

#include "backends/runtime/model/parameters.h"
#include "backends/runtime/step/engine.h"
#include "backends/runtime/step/state.h"
#include "core/plan/run.h"

namespace orch::train {

// The end of a step: skips it, or clips gradients and updates the weights; and adapts the loss
// scale. All ranks decide alike, since they get the same norm.
class Update {
 public:
  // All must outlive it.
  Update(const plan::Run& run, Parameters& parameters, OptimizerOptions options = {});

  // The factor for each replica's mean loss: a token's gradient is then scaled by the loss scale
  // over the tokens of the whole batch, and overflows in the same steps whatever the layout.
  double loss_scale() const { return loss_scale_.scale() / replicas_; }
  Optimizer& optimizer() { return *optimizer_; }

  // Throws ClassifiedFailure("nan") if neither a skipped step nor a smaller scale helps.
  StepResult apply(const StepBatch& batch, const AgreedTotals& agreed);
  // Called with the ratio by which the loss scale has changed.
  std::function<void(double ratio)> on_rescale;

  // All of the training's state on this rank, after the host's update is done.
  std::vector<StateTensor> save(checkpoint::CheckpointFacts& facts);
  void load(const checkpoint::CheckpointReader& from, LoadScope what);
  std::map<std::string, double> memory_items() const {
    return state_items(parameters_, *optimizer_);
  }

 private:
  const plan::Training training_;
  const std::int64_t vocab_;
  Parameters& parameters_;
  LossScale loss_scale_;
  const double replicas_;  // 1 without a loss scale
  const bool deferred_;
  std::unique_ptr<Optimizer> optimizer_;
  std::int64_t updates_ = 0;  // steps that were not skipped
};

}  // namespace orch::train
