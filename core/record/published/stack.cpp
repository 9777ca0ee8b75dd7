#include "core/record/published/stack.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/plan/stack.h"

namespace orch::published {

using record::Record;

std::string stack_of(const Record& row, const plan::Partition& partition) {
  if (row.field("stack")) return row.field_text("stack");
  const auto framework = lower(row.field_text("framework"));
  const double date = plan::years_of(row.origin.date);
  const plan::Stack* best = nullptr;
  double least = 0;
  for (const auto& [stack, at] : partition.stacks) {
    const auto& names = stack->frameworks;
    if (std::find(names.begin(), names.end(), framework) == names.end()) continue;
    // Rows without a date are taken as of today: the newest.
    const double years = plan::years_of(stack->date);
    const double off = date > 0 ? std::fabs(years - date) : -years;
    if (!best || off < least) best = stack.get(), least = off;
  }
  return best ? best->name : "";
}

}  // namespace orch::published
