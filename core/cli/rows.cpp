#include "core/cli/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/base/text.h"
#include "core/measured/row.h"

namespace orch::cli {
namespace {

using UnexplainedRows = std::map<std::string, measured::Unexplained>;

constexpr const char* kUnexplained = "unexplained.csv";
constexpr const char* kHabits = "habits.csv";

// The published rows that come with orch.
Result<std::vector<fs::path>> shipped(const fs::path& folder) {
  auto files = entries_of(folder);
  std::erase_if(files, [](const fs::path& file) {
    return file.extension() != ".csv" || file.filename() == kUnexplained ||
           file.filename() == kHabits;
  });
  if (files.empty())
    return Error{printable(folder.string()), "holds no measured rows", "name a CSV file"};
  return files;
}

// What follows from other evidence than the rows themselves.
Result<std::vector<measured::Habit>> read_habits(const fs::path& folder) {
  const auto file = folder / kHabits;
  std::error_code code;
  if (!fs::exists(file, code)) return std::vector<measured::Habit>{};
  const auto text = read_file(file);
  if (!text) return text.error();
  return measured::parse_habits(*text, file.string());
}

Result<std::vector<measured::Row>> read_rows(const std::vector<fs::path>& files,
                                             const fs::path& folder) {
  const auto habits = read_habits(folder);
  if (!habits) return habits.error();
  std::vector<measured::Row> rows;
  Errors errors;
  for (const auto& file : files) {
    const auto text = read_file(file);
    auto part = text ? measured::parse_rows(*text, file.string(), *habits)
                     : Result<std::vector<measured::Row>>(text.error());
    if (part)
      std::move(part->begin(), part->end(), std::back_inserter(rows));
    else
      errors.insert(errors.end(), part.error().begin(), part.error().end());
  }
  std::set<std::string_view> ids;
  for (const auto& row : rows)
    if (!ids.insert(row.id).second && files.size() > 1)
      errors.push_back({printable(row.file),
                        fmt::format("'{}' is the id of another row", printable(row.id)),
                        "name each file once, and give each row its own id"});
  if (!errors.empty()) return errors;
  return rows;
}

Result<UnexplainedRows> read_unexplained(const fs::path& folder) {
  const auto file = folder / kUnexplained;
  std::error_code code;
  if (!fs::exists(file, code)) return UnexplainedRows{};
  const auto text = read_file(file);
  if (!text) return text.error();
  return measured::parse_unexplained(*text, file.string());
}

}  // namespace

measured::Machines machines(App& app, const std::string& otherwise) {
  measured::Machines out;
  out.find = [&app](std::string_view name) { return app.clusters().find(name); };
  out.names = app.clusters().names();
  out.otherwise = otherwise;
  return out;
}

plan::CheckBackend check_backend(App& app) {
  return [&app](const plan::Run& run, auto& reasons, auto& warnings) {
    app.backends().of(*run.strategy).check(run, reasons, warnings);
  };
}

Result<std::vector<measured::Row>> read_table(App& app, const fs::path& file) {
  return read_rows({file}, app.places().measured());
}

Result<std::vector<fs::path>> shipped_tables(const App& app) {
  return shipped(app.places().measured());
}

std::set<std::string> MeasuredRows::apart() const {
  std::set<std::string> ids;
  for (const auto& [id, row] : unexplained)
    if (row.apart) ids.insert(id);
  return ids;
}

Status check_cluster(App& app, const std::vector<std::string>& files, const std::string& cluster) {
  if (!files.empty()) app.look_beside(files.front());
  if (cluster.empty()) return {};
  if (const auto found = app.clusters().find(cluster); !found) return found.error();
  return {};
}

Result<MeasuredRows> load_rows(App& app, const std::vector<std::string>& names,
                               const std::string& cluster) {
  const auto folder = app.places().measured();
  std::vector<fs::path> files(names.begin(), names.end());
  if (files.empty()) {
    const auto found = shipped(folder);
    if (!found) return found.error();
    files = *found;
  }
  const auto rows = read_rows(files, folder);
  if (!rows) return rows.error();
  auto unexplained = read_unexplained(folder);
  if (!unexplained) return unexplained.error();
  return MeasuredRows{measured::to_samples(*rows, machines(app, cluster),
                                           app.backends().strategies(), check_backend(app)),
                      std::move(*unexplained)};
}

}  // namespace orch::cli
