#include "backends/runtime/step/update.h"

#include <fmt/format.h>

#include <cmath>

#include "backends/runtime/host/failure.h"
#include "backends/runtime/step/run_options.h"
#include "backends/runtime/step/settings.h"

namespace orch::train {

Update::Update(const plan::Run& run, Parameters& parameters, OptimizerOptions options)
    : training_(run.training),
      vocab_(run.model.vocab),
      parameters_(parameters),
      loss_scale_(dtype_of(run) == at::kHalf, training_.loss_scale, training_.loss_scale_window),
      replicas_(dtype_of(run) == at::kHalf ? static_cast<double>(run.layout.data_parallel) : 1),
      deferred_(options.deferred) {
  options.weight_decay = training_.weight_decay;
  options.beta1 = training_.beta1;
  options.beta2 = training_.beta2;
  options.epsilon = training_.epsilon;
  optimizer_ = make_optimizer(plan::common_settings.optimizer(run), parameters, options);
}

StepResult Update::apply(const StepBatch& batch, const AgreedTotals& agreed) {
  const double scale = loss_scale_.scale(), applied = loss_scale(), norm = agreed.norm / applied;
  if (!std::isfinite(agreed.loss) && scale == 1)
    throw ClassifiedFailure("nan",
                            fmt::format("the loss of step {} is {}", batch.step, agreed.loss));
  const StepResult result{agreed.loss, norm, scale, !std::isfinite(norm), agreed.stop};
  if (result.skipped && scale == 1)
    throw ClassifiedFailure("nan", fmt::format("the gradient of step {} is not finite (loss {})",
                                               batch.step, result.loss));
  loss_scale_.update(result.skipped);
  if (const double ratio = loss_scale_.scale() / scale; ratio != 1 && on_rescale) on_rescale(ratio);
  if (loss_scale_.is_exhausted())
    throw ClassifiedFailure(
        "nan", fmt::format("step {}: gradients overflow at the smallest loss scale", batch.step));
  if (result.skipped) return result;
  const double clip = clip_coefficient(result.gradient_norm, training_.clip);
  optimizer_->step(batch.learning_rate, clip / applied, ++updates_);
  if (!deferred_) optimizer_->finish();
  return result;
}

std::vector<StateTensor> Update::save(checkpoint::CheckpointFacts& facts) {
  optimizer_->finish();
  const auto [scale, good, has_overflowed] = loss_scale_.state();
  facts.numbers["loss_scale"] = scale;
  facts.numbers["loss_scale_good_steps"] = static_cast<double>(good);
  facts.numbers["loss_scale_overflowed"] = has_overflowed ? 1 : 0;
  facts.numbers["updates"] = static_cast<double>(updates_);
  return training_state(parameters_, *optimizer_, vocab_);
}

void Update::load(const checkpoint::CheckpointReader& from, LoadScope what) {
  optimizer_->finish();
  load_state(from, what == LoadScope::all ? training_state(parameters_, *optimizer_, vocab_)
                                          : weight_state(parameters_, vocab_));
  parameters_.copy_masters_to_weights();
  if (what == LoadScope::weights) return;
  const auto& numbers = from.facts().numbers;
  loss_scale_.restore({numbers.at("loss_scale"),
                       static_cast<std::int64_t>(numbers.at("loss_scale_good_steps")),
                       numbers.at("loss_scale_overflowed") != 0});
  updates_ = static_cast<std::int64_t>(numbers.at("updates"));
}

}  // namespace orch::train
