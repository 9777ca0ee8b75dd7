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
