#include "core/plan/estimate.h"

#include <array>

namespace orch::plan {

std::string_view name(Fit fit) {
  static constexpr std::array kNames{"fits", "tight", "oom"};
  return kNames[static_cast<std::size_t>(fit)];
}

Range Estimate::range_of(double amount) const {
  if (step_seconds <= 0) return {amount, amount};
  return {amount * step_low / step_seconds, amount * step_high / step_seconds};
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
