#include "core/record/published/habits.h"

#include "core/base/csv.h"
#include "core/base/text.h"

namespace orch::published {

Result<std::vector<Habit>> parse_habits(std::string_view text, const std::string& file) {
  const auto csv = parse_csv(text, file);
  if (!csv) return csv.error();
  for (const auto* name : {"source", "gpu", "column", "value", "reason"})
    if (csv->column(name) < 0)
      return Error{printable(file), "needs the columns source, gpu, column, value and reason", ""};
  std::vector<Habit> habits;
  for (const auto& record : csv->records) {
    const auto cell = [&](const char* name) {
      const int at = csv->column(name);
      return std::string(at < 0 ? "" : trim(record.cells[static_cast<std::size_t>(at)]));
    };
    habits.push_back({cell("source"), cell("gpu"), cell("framework"), cell("column"), cell("value"),
                      cell("reason")});
  }
  return habits;
}

}  // namespace orch::published
