#include "core/record/published/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "core/record/published/columns.h"

namespace orch::published {
namespace {

using record::Record;

constexpr const char* kUnreadable = "unreadable";  // a kind of doubt
constexpr std::size_t kMostErrors = 20;

constexpr std::array kNeeded{"id", "gpu", "gpus", "framework", "layers", "hidden"};
constexpr std::array kMeasured{"step_time_s", "samples_per_s",        "tflops_per_gpu",
                               "mem_gb",      "days_per_100b_tokens", "status"};

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

Record read_row(const CsvRecord& cells, const std::vector<int>& places, const std::string& file) {
  Record row;
  row.origin.kind = "table";
  row.origin.file = file;
  row.origin.first_line = row.origin.last_line = static_cast<std::int64_t>(cells.line);
  const auto doubt = [&](const std::string& column, const CellError& flaw) {
    row.doubts.push_back(
        {kUnreadable, csv_place(file, cells.line, column), flaw.fact + "; " + flaw.fix});
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0) continue;
    const auto cell = trim(cells.cells[static_cast<std::size_t>(places[i])]);
    if (cell.empty()) continue;
    const auto& column = columns()[i];
    if (auto flaw = read_cell(cell, column, row); !flaw.none()) doubt(column.name, flaw);
  }
  if (row.id.empty()) {
    doubt("id", {"is empty", "name the row"});
    row.id = fmt::format("line {}", cells.line);
  }
  // A row without a source gets the file's name, one without a table the source's.
  if (row.source.empty()) row.source = std::filesystem::path(file).stem().string();
  if (row.table.empty()) row.table = row.source;
  return row;
}

bool concerns(const UnstatedDefault& habit, const Record& row) {
  const auto is = [](const std::string& wanted, const std::string& said) {
    return wanted.empty() || wanted == said;
  };
  return is(habit.source, row.source) && is(habit.gpu, row.field_text("gpu")) &&
         is(habit.framework, row.field_text("framework"));
}

void fill(Record& row, const std::vector<UnstatedDefault>& habits) {
  for (const auto& habit : habits) {
    if (!concerns(habit, row)) continue;
    for (const auto& column : columns()) {
      if (column.name != habit.column || plan::is_given(value_of(column, row))) continue;
      if (read_cell(habit.value, column, row).none())
        row.assumptions.push_back(habit.column + " " + habit.value + " (" + habit.reason + ")");
    }
  }
}

void check_ids(const std::vector<Record>& rows, Errors& errors) {
  std::map<std::string_view, std::int64_t> lines;
  for (const auto& row : rows) {
    const auto [place, fresh] = lines.try_emplace(row.id, row.origin.first_line);
    if (!fresh && !row.id.empty())
      errors.push_back(
          {csv_place(row.origin.file, static_cast<std::size_t>(row.origin.first_line), "id"),
           fmt::format("'{}' is the id of line {} already", printable(row.id), place->second),
           "give each row its own"});
  }
}

}  // namespace

Result<std::vector<Record>> parse_rows(std::string_view text, const std::string& file,
                                       const std::vector<UnstatedDefault>& habits) {
  const auto csv = parse_csv(text, file);
  if (!csv) return csv.error();
  if (auto errors = check_columns(*csv, file); !errors.empty()) return errors;
  std::vector<int> places;
  for (const auto& column : columns()) {
    const auto place = csv->column(column.name);  // or its name in experiments
    places.push_back(place >= 0 || column.field.empty() ? place : csv->column(column.field));
  }
  std::vector<Record> rows;
  rows.reserve(csv->records.size());
  Errors errors;
  for (const auto& record : csv->records) rows.push_back(read_row(record, places, file));
  for (auto& row : rows) fill(row, habits);
  check_ids(rows, errors);
  if (errors.empty()) return rows;
  keep_first(errors, kMostErrors, file);
  return errors;
}

std::string rows_csv(const std::vector<Record>& records) {
  std::vector<CsvCell> cells;
  for (const auto& column : columns()) cells.emplace_back(column.name);
  CsvWriter out;
  out.row(cells);
  for (const auto& record : records) {
    cells.clear();
    for (const auto& column : columns()) cells.emplace_back(cell_text(column, record));
    out.row(cells);
  }
  return out.text();
}

Errors flaws(const Record& record) {
  Errors out;
  for (const auto& doubt : record.doubts)
    if (doubt.kind == kUnreadable) out.push_back({doubt.field, doubt.reason, ""});
  return out;
}

Result<std::vector<UnstatedDefault>> parse_habits(std::string_view text, const std::string& file) {
  const auto csv = parse_csv(text, file);
  if (!csv) return csv.error();
  for (const auto* name : {"source", "gpu", "column", "value", "reason"})
    if (csv->column(name) < 0)
      return Error{printable(file), "needs the columns source, gpu, column, value and reason", ""};
  std::vector<UnstatedDefault> habits;
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

Result<std::map<std::string, UnexplainedRow>> parse_unexplained(std::string_view text,
                                                                const std::string& file) {
  const auto csv = parse_csv(text, file);
  if (!csv) return csv.error();
  const int id = csv->column("id"), reason = csv->column("reason"), apart = csv->column("apart");
  if (id < 0 || reason < 0 || apart < 0)
    return Error{printable(file), "needs the columns id, reason and apart", ""};
  std::map<std::string, UnexplainedRow> out;
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
