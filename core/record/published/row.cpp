#include "core/record/published/row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "core/record/published/columns.h"

namespace orch::published {
namespace {

constexpr std::size_t kMostErrors = 20;

constexpr std::array kNeeded{"id", "gpu", "gpus", "framework", "layers", "hidden"};
constexpr std::array kMeasured{"step_time_s", "samples_per_s",        "tflops_per_gpu",
                               "mem_gb",      "days_per_100b_tokens", "status"};

bool is_date(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-dd";
  if (text.size() != 4 && text.size() != 7 && text.size() != 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (kForm[i] == 'd' ? !std::isdigit(static_cast<unsigned char>(text[i])) : text[i] != '-')
      return false;
  return true;
}

Errors check_columns(const Csv& csv, const std::string& file) {
  Errors errors;
  for (const auto* name : kNeeded) {
    if (csv.column(name) >= 0) continue;
    const auto near = nearest(name, csv.header);
    errors.push_back({printable(file), fmt::format("no column '{}'", name),
                      near ? "is it the column '" + printable(*near) + "'?"
                           : "the first row must name the columns"});
  }
  if (std::none_of(kMeasured.begin(), kMeasured.end(),
                   [&](const char* name) { return csv.column(name) >= 0; }))
    errors.push_back({printable(file), "no column says what was measured",
                      fmt::format("one of: {}", fmt::join(kMeasured, ", "))});
  return errors;
}

Row read_row(const CsvRecord& record, const std::vector<int>& places, const std::string& file) {
  Row row;
  auto& errors = row.flaws;
  row.line = record.line;
  row.file = file;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0) continue;
    const auto cell = trim(record.cells[static_cast<std::size_t>(places[i])]);
    if (cell.empty()) continue;
    const auto& column = columns()[i];
    if (auto flaw = read_cell(cell, column, row); !flaw.none())
      errors.push_back({csv_place(file, record.line, column.name), flaw.fact, flaw.fix});
  }
  if (!row.date.empty() && !is_date(row.date))
    errors.push_back({csv_place(file, record.line, "date"),
                      "'" + printable(row.date) + "' is no date",
                      "write YYYY-MM-DD, YYYY-MM, or nothing"});
  if (row.id.empty()) {
    errors.push_back({csv_place(file, record.line, "id"), "is empty", "name the row"});
    row.id = fmt::format("line {}", record.line);
  }
  // What has no source is its file's, and what has no table is of one.
  if (row.source.empty()) row.source = std::filesystem::path(file).stem().string();
  if (row.table.empty()) row.table = row.source;
  return row;
}

void fill(Row& row, const std::vector<Habit>& habits) {
  for (const auto& habit : habits) {
    if ((!habit.source.empty() && habit.source != row.source) || (!habit.gpu.empty() && habit.gpu != row.gpu) ||
        (!habit.framework.empty() && habit.framework != row.framework))
      continue;
    for (const auto& column : columns()) {
      if (column.name != habit.column || !is_empty(column, row)) continue;
      if (read_cell(habit.value, column, row).none())
        row.assumed.push_back(habit.column + " " + habit.value + " (" + habit.reason + ")");
    }
  }
}

void check_ids(const std::vector<Row>& rows, Errors& errors) {
  std::map<std::string_view, std::size_t> lines;
  for (const auto& row : rows) {
    const auto [place, fresh] = lines.try_emplace(row.id, row.line);
    if (!fresh && !row.id.empty())
      errors.push_back(
          {csv_place(row.file, row.line, "id"),
           fmt::format("'{}' is the id of line {} already", printable(row.id), place->second),
           "give each row its own"});
  }
}

}  // namespace

Result<std::vector<Row>> parse_rows(std::string_view text, const std::string& file,
                                    const std::vector<Habit>& habits) {
  const auto csv = parse_csv(text, file);
  if (!csv) return csv.error();
  if (auto errors = check_columns(*csv, file); !errors.empty()) return errors;
  std::vector<int> places;
  for (const auto& column : columns()) places.push_back(csv->column(column.name));
  std::vector<Row> rows;
  rows.reserve(csv->records.size());
  Errors errors;
  for (const auto& record : csv->records) rows.push_back(read_row(record, places, file));
  for (auto& row : rows) fill(row, habits);
  check_ids(rows, errors);
  if (errors.empty()) return rows;
  keep_first(errors, kMostErrors, file);
  return errors;
}

}  // namespace orch::published
