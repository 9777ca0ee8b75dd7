#include "core/price/search/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/units.h"

namespace orch::search {
namespace {

constexpr double kNegligible = 0.02;  // share of the sum of all differences
constexpr std::size_t kMost = 6;
constexpr std::string_view kEnd = "end of step: ";

// Items have names such as "block: operation" or "end of step: block: operation".
std::string part_of(const plan::EstimateItem& item) {
  const bool end = std::string_view(item.name).starts_with(kEnd);
  if (item.kind == "gemm" || item.kind == "attention") return "compute";
  if (item.kind == "memory" && !end) return "memory-bound kernels";
  if (item.kind == "overhead") return "overhead";
  const auto colon = item.name.rfind(": ");
  return colon == std::string::npos ? item.name : item.name.substr(colon + 2);
}

}  // namespace

std::vector<SettingDifference> differences(const plan::Planned& faster,
                                           const plan::Planned& slower) {
  const double scale = faster.run.tokens_per_step() / slower.run.tokens_per_step();
  std::map<std::string, double> parts;
  for (const auto& item : slower.estimate.time) parts[part_of(item)] += item.amount * scale;
  for (const auto& item : faster.estimate.time) parts[part_of(item)] -= item.amount;
  std::vector<SettingDifference> out;
  for (const auto& [part, seconds] : parts)
    if (seconds != 0) out.push_back({part, seconds});
  std::stable_sort(out.begin(), out.end(),
                   [](const SettingDifference& a, const SettingDifference& b) {
                     return std::abs(a.seconds) > std::abs(b.seconds);
                   });
  return out;
}

std::string text(const std::vector<SettingDifference>& differences) {
  double all = 0;
  for (const auto& difference : differences) all += std::abs(difference.seconds);
  std::string out;
  std::size_t shown = 0;
  for (const auto& [part, seconds] : differences) {
    if (std::abs(seconds) < kNegligible * all || shown++ == kMost) break;
    out += fmt::format("{}{} {}{}", out.empty() ? "" : ", ", part, seconds < 0 ? "-" : "+",
                       format_seconds(std::abs(seconds)));
  }
  return out;
}

}  // namespace orch::search
