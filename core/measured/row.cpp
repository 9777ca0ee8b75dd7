#include "core/measured/row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <variant>

#include "core/base/text.h"
#include "core/measured/csv.h"

namespace orch::measured {
namespace {

constexpr std::size_t kMostErrors = 20;

using Text = std::string Row::*;
using Count = std::optional<std::int64_t> Row::*;
using Real = std::optional<double> Row::*;
using Flag = std::optional<bool> Row::*;

struct Column {
  std::string name;
  std::variant<Text, Count, Real, Flag> member;
  double min = 1, max = 1e9;            // of a number
  std::vector<std::string> words = {};  // of a text; none: any
};

// The limits are those of an experiment: far beyond any machine, to stop typing errors.
const std::vector<Column>& columns() {
  static const std::vector<Column> kColumns{
      {"id", &Row::id},
      {"source", &Row::source},
      {"table", &Row::table},
      {"date", &Row::date},
      {"site", &Row::site},
      {"gpu", &Row::gpu},
      {"gpus", &Row::gpus, 1, 1e7},
      {"nodes", &Row::nodes, 1, 1e7},
      {"gpus_per_node", &Row::gpus_per_node, 1, 1e4},
      {"framework", &Row::framework},
      {"layers", &Row::layers, 1, 1e5},
      {"hidden", &Row::hidden, 1, 1e7},
      {"heads", &Row::heads, 1, 1e6},
      {"vocab", &Row::vocab, 1, 1e8},
      {"seq", &Row::seq, 1, 1e8},
      {"params_b", &Row::params_b, 1e-6, 1e6},
      {"tp", &Row::tp, 1, 65536},
      {"pp", &Row::pp, 1, 65536},
      {"dp", &Row::dp, 1, 1e7},
      {"pp_chunks", &Row::pp_chunks, 1, 1e8},
      {"interleave", &Row::interleave, 1, 1e4},
      {"mbs", &Row::mbs, 1, 1e6},
      {"gas", &Row::gas, 1, 1e8},
      {"gbs", &Row::gbs, 1, 1e9},
      {"zero_stage", &Row::zero_stage, 0, 3},
      {"offload", &Row::offload},
      {"act_ckpt", &Row::act_ckpt},
      {"flash_attn", &Row::flash_attn},
      {"sequence_parallel", &Row::sequence_parallel},
      {"master_weights", &Row::master_weights},
      {"fp32_accumulate", &Row::fp32_accumulate},
      {"offload_activations", &Row::offload_activations},
      {"dtype", &Row::dtype},
      {"optimizer", &Row::optimizer},
      {"grad_compression", &Row::grad_compression},
      {"grad_accum", &Row::grad_accum, 0, 1e8},
      {"launch_blocking", &Row::launch_blocking},
      {"partition_method", &Row::partition_method},
      {"step_time_s", &Row::step_time_s, 1e-6, 1e7},
      {"samples_per_s", &Row::samples_per_s, 1e-9, 1e9},
      {"tflops_per_gpu", &Row::tflops_per_gpu, 1e-6, 1e5},
      {"tflops_formula", &Row::tflops_formula},
      {"days_per_100b_tokens", &Row::days_per_100b_tokens, 1e-6, 1e9},
      {"mem_gb", &Row::mem_gb, 1e-3, 1e5},
      {"mem_of", &Row::mem_of, 0, 0, {"first", "fullest"}},
      {"status", &Row::status, 0, 0, {"ok", "oom", "hang"}},
      {"suspect", &Row::suspect},
      {"dup_of", &Row::dup_of},
  };
  return kColumns;
}

constexpr std::array kNeeded{"id", "gpu", "gpus", "framework", "layers", "hidden"};
constexpr std::array kMeasured{"step_time_s", "samples_per_s",        "tflops_per_gpu",
                               "mem_gb",      "days_per_100b_tokens", "status"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

// What is wrong with a cell, "" if nothing.
struct Flaw {
  std::string fact, fix;
  bool none() const { return fact.empty(); }
};

Flaw read_number(std::string_view cell, const Column& column, bool whole, double& value) {
  const auto wanted = fmt::format("give {} from {:g} to {:g}, or nothing",
                                  whole ? "a whole number" : "a number", column.min, column.max);
  const auto shown = "'" + printable(cell) + "'";
  const auto found = number(cell);
  if (!found)
    return {shown + " is not a number", cell.find(',') == std::string_view::npos
                                            ? wanted
                                            : "write it without commas, with a point"};
  if (whole && *found != std::floor(*found)) return {shown + " is not a whole number", wanted};
  if (*found < column.min || *found > column.max) return {shown + " is out of range", wanted};
  value = *found;
  return {};
}

Flaw read_flag(std::string_view cell, std::optional<bool>& out) {
  const auto word = lower(cell);
  if (word == "true" || word == "yes" || word == "1") out = true;
  if (word == "false" || word == "no" || word == "0") out = false;
  if (out) return {};
  return {"'" + printable(cell) + "' is not true or false", "give true, false or nothing"};
}

Flaw read_text(std::string_view cell, const Column& column, std::string& out) {
  out = column.words.empty() ? std::string(cell) : lower(cell);
  if (column.words.empty() ||
      std::find(column.words.begin(), column.words.end(), out) != column.words.end())
    return {};
  return {"'" + printable(cell) + "' is none of its words", suggestion(out, column.words)};
}

Flaw read_cell(std::string_view cell, const Column& column, Row& row) {
  if (const auto* text = std::get_if<Text>(&column.member))
    return read_text(cell, column, row.*(*text));
  if (const auto* flag = std::get_if<Flag>(&column.member)) return read_flag(cell, row.*(*flag));
  double value = 0;
  const auto* count = std::get_if<Count>(&column.member);
  auto flaw = read_number(cell, column, count != nullptr, value);
  if (!flaw.none()) return flaw;
  if (count)
    row.*(*count) = static_cast<std::int64_t>(value);
  else
    row.*std::get<Real>(column.member) = value;
  return {};
}

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

bool is_empty(const Column& column, const Row& row) {
  if (const auto* text = std::get_if<Text>(&column.member)) return (row.*(*text)).empty();
  if (const auto* flag = std::get_if<Flag>(&column.member)) return !(row.*(*flag));
  if (const auto* count = std::get_if<Count>(&column.member)) return !(row.*(*count));
  return !(row.*std::get<Real>(column.member));
}

void fill(Row& row, const std::vector<Habit>& habits) {
  for (const auto& habit : habits) {
    if (habit.source != row.source || (!habit.gpu.empty() && habit.gpu != row.gpu) ||
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

}  // namespace orch::measured
