#include "core/plan/estimate.h"

namespace orch::plan {

std::string_view name(Fit fit) {
  switch (fit) {
    case Fit::fits:
      return "fits";
    case Fit::tight:
      return "tight";
    case Fit::oom:
      return "oom";
  }
  return "";
}

Range Estimate::range_of(double amount) const {
  if (step_seconds <= 0) return {amount, amount};
  return {amount * step_low / step_seconds, amount * step_high / step_seconds};
}

Range Estimate::range_of_rate(double rate) const {
  if (step_seconds <= 0) return {rate, rate};
  return {rate * step_seconds / step_high, rate * step_seconds / step_low};
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
