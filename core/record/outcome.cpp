#include "core/record/outcome.h"

#include "core/base/units.h"

namespace orch::record {

Measurement measured_of(const Outcome& outcome) {
  Measurement out;
  out.gpu_hours = outcome.gpu_hours;
  if (!outcome.progress) return out;
  const auto& progress = *outcome.progress;
  const auto known = [](double value) {
    return value > 0 ? std::optional(value) : std::nullopt;
  };
  out.steps = progress.step;
  if (const auto step = known(progress.step_seconds))
    out.step_seconds = statistics::Interval{*step, {}, {}, 1};
  out.tokens_per_second = known(progress.tokens_per_second);
  if (out.tokens_per_second) out.days_per_100b_tokens = 1e11 / *out.tokens_per_second / kDay;
  out.peak_memory_bytes = known(progress.peak_memory);
  out.last_loss = progress.loss;
  const auto state = [&](const char* name, const std::optional<double>& value) {
    if (value) out.stated.emplace(name, *value);
  };
  state("evaluation_loss", progress.evaluation_loss);
  state("communicated_bytes", progress.communicated_bytes);
  state("bubble", progress.bubble);
  return out;
}

}  // namespace orch::record
