#include "core/app/rows.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "core/app/gather.h"
#include "core/base/text.h"
#include "core/record/published/table.h"

namespace orch::app {
namespace {

using UnexplainedRows = std::map<std::string, published::UnexplainedRow>;

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
    return Error{printable(folder.string()), "has no measured rows", "name a CSV file"};
  return files;
}

// Parses a file beside the tables, if it exists.
template <class T>
Result<T> read_beside(const fs::path& file,
                      Result<T> (*parse)(std::string_view, const std::string&)) {
  std::error_code code;
  if (!fs::exists(file, code)) return T();
  const auto text = read_file(file);
  if (!text) return text.error();
  return parse(*text, file.string());
}

Result<std::vector<record::Record>> read_rows(const std::vector<fs::path>& files,
                                              const fs::path& folder) {
  // Known values from other evidence than the rows.
  const auto habits = read_beside(folder / kHabits, published::parse_habits);
  if (!habits) return habits.error();
  std::vector<record::Record> rows;
  Errors errors;
  for (const auto& file : files) {
    const auto text = read_file(file);
    auto part = text ? published::parse_rows(*text, file.string(), *habits)
                     : Result<std::vector<record::Record>>(text.error());
    if (errors.add(part)) std::move(part->begin(), part->end(), std::back_inserter(rows));
  }
  std::set<std::string_view> ids;
  for (const auto& row : rows)
    if (!ids.insert(row.id).second && files.size() > 1)
      errors.push_back({printable(row.origin.file),
                        fmt::format("'{}' is the id of another row", printable(row.id)),
                        "give each file once, and each row its own id"});
  if (!errors.empty()) return errors;
  return rows;
}

// True if a file or folder contains logs, as a run's folder does, and no table.
bool holds_logs(const fs::path& path) {
  std::error_code code;
  if (fs::is_directory(path, code)) return true;
  if (path.extension() == ".csv" || !fs::is_regular_file(path, code)) return false;
  std::string head;
  std::getline(std::ifstream(path), head);
  return head.find("gpus") == std::string::npos || head.find(',') == std::string::npos;
}

std::vector<std::string> take_logs(std::vector<fs::path>& files) {
  std::vector<std::string> logs;
  for (const auto& file : files)
    if (holds_logs(file)) logs.push_back(file.string());
  std::erase_if(files, holds_logs);
  return logs;
}

// Expands whole tables "source/table", with * for anything, to the ids of their rows.
void add_tables(const std::vector<published::PublishedSample>& samples,
                UnexplainedRows& unexplained) {
  UnexplainedRows tables;
  for (const auto& [id, row] : unexplained)
    if (id.find('*') != std::string::npos) tables[id] = row;
  for (const auto& [pattern, row] : tables)
    for (const auto& sample : samples)
      if (::fnmatch(pattern.c_str(), (sample.source + "/" + sample.table).c_str(), 0) == 0)
        unexplained.emplace(sample.id, row);
}

}  // namespace

published::SampleMachines machines(App& app, const std::string& otherwise) {
  published::SampleMachines out;
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

Result<std::vector<record::Record>> read_table(App& app, const fs::path& file) {
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

Status check_cluster(App& app, const std::string& cluster) {
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
  auto logs = take_logs(files);
  auto rows = files.empty() ? Result<std::vector<record::Record>>(std::vector<record::Record>())
                            : read_rows(files, folder);
  if (!rows) return rows.error();
  if (!logs.empty()) {
    RecordArguments arguments;
    arguments.cluster = cluster;
    Gatherer gatherer(app, arguments);
    auto found = gatherer.said_in_logs(logs);
    if (!found) return found.error();
    for (auto& record : *found) name_cluster(cluster, rows->emplace_back(std::move(record)));
  }
  auto unexplained = read_beside(folder / kUnexplained, published::parse_unexplained);
  if (!unexplained) return unexplained.error();
  auto samples = published::to_samples(*rows, machines(app, cluster), app.backends().strategies(),
                                       check_backend(app));
  add_tables(samples.samples, *unexplained);
  return MeasuredRows{std::move(samples), std::move(*unexplained)};
}

}  // namespace orch::app
