#include <fmt/format.h>

#include "core/base/units.h"
#include "core/show/tables/report.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

// "192–2032", or the one value where both are the same.
std::string span_text(const std::string& first, const std::string& last) {
  return first == last ? first : first + "–" + last;
}

std::string place_text(const plan::Calendar& calendar, double days) {
  if (!calendar.start) return fmt::format("day {:.1f}", days);
  return day_text(calendar.date(days));
}

}  // namespace

Rows schedule_rows(const plan::Estimate& estimate, const plan::Calendar& calendar) {
  Rows rows{
      {"phase", "batch", "nodes", "tokens", "step s", "TFLOPs", "days", "from", "to"}};
  const auto spans = calendar.spans(estimate.portions(estimate.days_to_train));
  for (const auto& s : estimate.schedule) {
    const auto& span = spans[rows.size() - 1];
    rows.push_back({std::to_string(rows.size()),
                    span_text(std::to_string(s.first_batch), std::to_string(s.last_batch)),
                    std::to_string(s.nodes), format_tokens(s.tokens),
                    span_text(significant(s.first_step_seconds), significant(s.last_step_seconds)),
                    significant(s.tflops_per_gpu), significant(s.seconds / kDay),
                    place_text(calendar, span.from), place_text(calendar, span.to)});
  }
  return rows;
}

}  // namespace orch::tables
