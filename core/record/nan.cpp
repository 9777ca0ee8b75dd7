#include "core/record/nan.h"

#include <fmt/format.h>

#include <algorithm>

namespace orch::record {
namespace {

std::int64_t last_finite(const Measurement& measured) {
  return measured.losses.empty() ? 0 : measured.losses.back().step;
}

// How many steps apart losses are printed.
std::int64_t interval(const Measurement& measured) {
  const auto& losses = measured.losses;
  return losses.size() < 2 ? 1 : losses.back().step - losses[losses.size() - 2].step;
}

}  // namespace

bool lost_loss(const Measurement& measured) {
  const auto missing = measured.steps - last_finite(measured);
  return measured.nan_steps > 0 && missing > 0 && missing >= interval(measured);
}

std::string nan_text(const Measurement& measured) {
  if (measured.nan_steps <= 0) return "";
  auto out = fmt::format("NaN in {}", measured.nan_steps);
  const auto all = std::max(measured.steps, measured.nan_steps);
  if (all > measured.nan_steps) out += fmt::format(" of {}", all);
  out += all == 1 ? " step" : " steps";
  if (!lost_loss(measured)) return out;
  const auto last = last_finite(measured);
  if (measured.nan_steps == measured.steps - last)
    return out + fmt::format(", from step {} on", last + 1);
  return out + fmt::format(", and no number after step {}", last);
}

}  // namespace orch::record
