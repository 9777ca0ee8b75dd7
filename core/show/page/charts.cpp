#include <algorithm>
#include <functional>
#include <set>

#include "core/show/page/parts.h"
#include "core/show/page/picture.h"

namespace orch::page {
namespace {

bool any(const std::vector<Line>& lines, const std::function<bool(const Line&)>& has) {
  return std::any_of(lines.begin(), lines.end(), has);
}

bool has_place_by_gpus(const Line& line) {
  return line.numbers.best_days() && gpus_of(line) > 0 && counts_for_speed(*line.record);
}

bool differ(const std::vector<Line>& lines) {
  std::set<double> counts;
  for (const auto& line : lines)
    if (has_place_by_gpus(line)) counts.insert(gpus_of(line));
  return counts.size() > 1;
}

bool has_items(const Line& line) {
  const auto some = [](const std::vector<plan::Item>& items) {
    return std::any_of(items.begin(), items.end(),
                       [](const auto& item) { return item.amount > 0; });
  };
  const auto& guess = line.record->estimated;
  return some(line.record->measured.time_items) || (guess && some(guess->time));
}

}  // namespace

std::vector<Chart> charts_of(const std::vector<Line>& lines) {
  return {
      {"days", std::string("Days per 100B tokens") + (differ(lines) ? " by number of GPUs" : ""),
       any(lines, has_place_by_gpus)},
      {"sweep", "Days by two parameters", has_sweep(lines)},
      {"scaling", "Scaling efficiency",
       has_scaling(lines, &Numbers::tokens_per_second) ||
           has_scaling(lines, &Numbers::estimated_tokens_per_second)},
      {"time", "Where the time of a step goes", any(lines, has_items)},
      {"memory", "Memory against the limit",
       any(lines, [](const Line& l) { return l.numbers.memory || l.numbers.estimated_memory; })},
      {"predicted", "Predicted against measured",
       any(lines, [](const Line& l) { return l.numbers.step && l.numbers.estimated_step; })},
      {"loss", "Loss",
       any(lines, [](const Line& l) { return l.record->measured.losses.size() > 1; })},
      {"pace", "Step time over the run",
       any(lines, [](const Line& l) { return l.record->measured.step_times.size() > 1; })},
      {"peaks", "Memory over the run",
       any(lines, [](const Line& l) { return l.record->measured.peaks.size() > 1; })},
  };
}

}  // namespace orch::page
