#include "core/record/published/unexplained.h"

#include "core/base/csv.h"
#include "core/base/text.h"

namespace orch::published {

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
