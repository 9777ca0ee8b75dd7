#include "core/record/rates.h"

#include <cmath>

#include "core/record/quantities.h"

namespace orch::record {
namespace {

using statistics::Interval;

std::optional<double> positive(std::optional<double> value) {
  return value && std::isfinite(*value) && *value > 0 ? value : std::nullopt;
}

std::optional<double> global_batch(const Record& record) {
  const auto field = [&](const char* name) { return positive(record.field_number(name)); };
  if (const auto said = field("global_batch")) return said;
  const auto micro = field("micro_batch"), steps = field("accumulate"), data = field("data_parallel");
  if (!micro || !steps || !data) return std::nullopt;
  return *micro * *steps * *data;
}

Interval just(double value) { return {value, std::nullopt, std::nullopt, 1}; }

}  // namespace

std::optional<double> tokens_per_step(const Record& record) {
  const auto batch = global_batch(record), seq = positive(record.field_number("seq"));
  if (!batch || !seq) return std::nullopt;
  return *batch * *seq;
}

std::optional<Interval> seconds_per_token(const Record& record) {
  const auto& m = record.measured;
  const auto tokens = tokens_per_step(record);
  std::optional<Interval> by_steps;
  if (tokens && m.step_seconds && positive(m.step_seconds->value))
    by_steps = m.step_seconds->times(1 / *tokens);
  if (by_steps && by_steps->has_limits()) return by_steps;
  if (const auto days = positive(m.days_per_100b_tokens)) return just(*days / kDaysPer100B);
  if (const auto rate = positive(m.tokens_per_second)) return just(1 / *rate);
  return by_steps;
}

std::optional<Interval> estimated_seconds_per_token(const Record& record) {
  if (!record.estimated) return std::nullopt;
  const auto& e = *record.estimated;
  const auto tokens = tokens_per_step(record), step = positive(e.step_seconds);
  std::optional<double> seconds;
  if (const auto days = positive(e.days_per_100b_tokens))
    seconds = *days / kDaysPer100B;
  else if (const auto rate = positive(e.tokens_per_second))
    seconds = 1 / *rate;
  else if (tokens && step)
    seconds = *step / *tokens;
  if (!seconds || !step) return seconds ? std::optional(just(*seconds)) : std::nullopt;
  return estimated(*find_quantity("step_seconds"), record)->times(*seconds / *step);
}

}  // namespace orch::record
