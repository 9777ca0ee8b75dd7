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

Result<std::map<std::string, Unexplained>> parse_unexplained(std::string_view text,
                                                             const std::string& file) {
  const auto csv = parse_csv(text, file);
  if (!csv) return csv.error();
  const int id = csv->column("id"), reason = csv->column("reason"), apart = csv->column("apart");
  if (id < 0 || reason < 0 || apart < 0)
    return Error{printable(file), "needs the columns id, reason and apart", ""};
  std::map<std::string, Unexplained> out;
  Errors errors;
  for (const auto& record : csv->records) {
    const auto cell = [&](int column) {
      return std::string(trim(record.cells[static_cast<std::size_t>(column)]));
    };
    if (cell(apart) != "true" && cell(apart) != "false")
      errors.push_back({csv_place(file, record.line, "apart"),
                        "'" + printable(cell(apart)) + "' is not true or false", ""});
    out[cell(id)] = {cell(reason), cell(apart) == "true"};
  }
  if (!errors.empty()) return errors;
  return out;
}

}  // namespace orch::published
