#include "core/plan/estimate.h"

#include <array>

#include "core/base/text.h"

namespace orch::plan {
namespace {

constexpr std::array<std::string_view, 3> kFits{"fits", "tight", "oom"};

}  // namespace

std::string_view name(MemoryFit fit) { return kFits[static_cast<std::size_t>(fit)]; }

std::optional<MemoryFit> parse_fit(std::string_view text) {
  return enum_of<MemoryFit>(kFits, text);
}

EstimateRange Estimate::range_of(double amount) const {
  if (step_seconds <= 0) return {amount, amount};
  return {amount * step_low / step_seconds, amount * step_high / step_seconds};
}

EstimateRange Estimate::range_with_failures(double amount) const {
  if (days_with_failures <= 0) return range_of(amount);
  return {amount * days_with_failures_low / days_with_failures,
          amount * days_with_failures_high / days_with_failures};
}

void Estimate::forget_length() {
  for (double* each :
       {&days_to_train, &gpu_hours, &interruptions, &days_with_failures, &days_with_failures_low,
        &days_with_failures_high, &cost, &energy_kwh, &co2_kg})
    *each = 0;
  checkpoint = best_checkpoint = {};
  lost.clear();
}

std::vector<Portion> Estimate::portions(double days) const {
  double total = 0;
  for (const auto& stretch : schedule) total += stretch.seconds;
  if (total <= 0) return {{days, 0}};
  std::vector<Portion> out;
  for (const auto& stretch : schedule)
    out.push_back({days * stretch.seconds / total, stretch.nodes});
  return out;
}

}  // namespace orch::plan
