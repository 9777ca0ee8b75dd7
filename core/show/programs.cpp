#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "core/show/answer.h"

namespace orch::show {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBlock = 64 << 10;  // bytes per call of print

CsvCell csv_cell(const Value& value) {
  constexpr int kDigits = 10;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return {*real, kDigits};
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

// JSON cannot represent infinity and NaN.
Json json_number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json json_value(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return json_number(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

template <class Put>  // called with (name, value)
void for_each_value(const Column& column, const Cell& cell, Put put) {
  put(column.name, cell.value);
  if (column.range.empty()) return;
  put(column.range + "_low", cell.low);
  put(column.range + "_high", cell.high);
}

Json row_json(const Table& table, std::size_t row) {
  Json out = Json::object();
  for (const auto& column : table.columns)
    if (!column.name.empty())
      for_each_value(column, column.cell(row), [&](const std::string& name, const Value& value) {
        out[name] = json_value(value);
      });
  return out;
}

// Indented by that number of columns. Users' texts may contain any bytes; invalid UTF-8 is
// replaced, without an exception.
std::string dumped(const Json& json, std::size_t columns) {
  std::string out;
  for (const char c : json.dump(2, ' ', false, Json::error_handler_t::replace)) {
    out += c;
    if (c == '\n') out.append(columns, ' ');  // raw line breaks occur only between tokens
  }
  return out;
}

// An object that is printed while it is made: its lists may be longer than memory allows.
class JsonDocument {
 public:
  explicit JsonDocument(const Print& print) : print_(print) {}

  void add(const std::string& name, const Json& value) { text_ += begin(name) + dumped(value, 2); }
  template <class Item>  // called with a std::size_t, returns Json
  void add_list(const std::string& name, std::size_t count, Item item) {
    text_ += begin(name) + "[";
    for (std::size_t i = 0; i < count; ++i) {
      text_ += (i == 0 ? "\n    " : ",\n    ") + dumped(item(i), 4);
      if (text_.size() >= kBlock) print_(std::exchange(text_, {}));
    }
    text_ += count == 0 ? "]" : "\n  ]";
  }
  void end() { print_(text_ + "\n}\n"); }

 private:
  std::string begin(const std::string& name) {
    return std::exchange(comma_, ",\n  ") + dumped(name, 0) + ": ";
  }

  const Print& print_;
  std::string text_, comma_ = "{\n  ";
};

const Table* first_table(const Answer& answer) {
  for (const auto& section : answer.sections)
    if (const auto* table = std::get_if<Table>(&section); table && !table->name.empty())
      return table;
  return nullptr;
}

}  // namespace

// Without a table, the answer's names and values, or nothing.
static std::string details_csv(const Answer& answer) {
  CsvWriter out;
  out.row({"name", "value"});
  for (const auto& section : answer.sections)
    if (const auto* details = std::get_if<Details>(&section))
      for (const auto& [name, value] : details->pairs) out.row({name, csv_cell(value)});
  return out.text();
}

void print_csv(const Answer& answer, const Print& print) {
  const auto* table = first_table(answer);
  if (!table) return print(details_csv(answer));
  CsvWriter out;
  std::vector<CsvCell> cells;
  for (const auto& column : table->columns)
    if (!column.name.empty())
      for_each_value(column, {},
                     [&](const std::string& name, const Value&) { cells.emplace_back(name); });
  out.row(cells);
  for (std::size_t row = 0; row < table->rows; ++row) {
    cells.clear();
    for (const auto& column : table->columns)
      if (!column.name.empty())
        for_each_value(column, column.cell(row), [&](const std::string&, const Value& value) {
          cells.push_back(csv_cell(value));
        });
    out.row(cells);
  }
  print(out.text());
}

void print_json(const Answer& answer, const Print& print) {
  JsonDocument document(print);
  document.add("schema", 1);
  if (!answer.name.empty()) document.add("name", answer.name);
  std::vector<const Finding*> findings;
  for (const auto& section : answer.sections) {
    if (const auto* table = std::get_if<Table>(&section); table && !table->name.empty())
      document.add_list(table->name, table->rows,
                        [&](std::size_t row) { return row_json(*table, row); });
    if (const auto* details = std::get_if<Details>(&section); details && !details->name.empty()) {
      Json pairs = Json::object();
      for (const auto& [name, value] : details->pairs) pairs[name] = json_value(value);
      document.add(details->name, pairs);
    }
    if (const auto* some = std::get_if<Findings>(&section))
      for (const auto& each : some->list)
        if (!each.text.empty()) findings.push_back(&each);
  }
  document.add_list("findings", findings.size(), [&](std::size_t i) {
    return Json{{"kind", findings[i]->kind}, {"text", trim(findings[i]->text)}};
  });
  document.end();
}

std::string text_as(std::string_view format, const Answer& answer, const Screen& screen) {
  if (format != "json" && format != "csv") return text(answer, screen);
  std::string out;
  (format == "json" ? print_json : print_csv)(answer,
                                              [&](const std::string& more) { out += more; });
  return out;
}

}  // namespace orch::show
