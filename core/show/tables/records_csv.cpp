#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "core/record/quantities.h"
#include "core/show/tables/columns.h"
#include "core/show/tables/records.h"

namespace orch::tables {
namespace {

using record::Record;
using Records = std::vector<Record>;

using RecordColumns = std::vector<Column<Record>>;

std::string exact(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

Column<Record> field_column(const std::string& name) {
  return {name, 0, [name](const Record& r) {
            const auto* value = r.field(name);
            const auto* real = value != nullptr ? std::get_if<double>(value) : nullptr;
            return real != nullptr ? exact(*real) : r.field_text(name);
          }};
}

using Value = record::Quantity::Value;
using Read = Value (*)(const record::Quantity&, const Record&);

// A quantity with its limits, where any record has it.
void add_quantity(const Records& records, const record::Quantity& quantity,
                  const std::string& prefix, Read read, RecordColumns& to) {
  const auto has = [&](const Record& r) { return read(quantity, r).has_value(); };
  if (std::none_of(records.begin(), records.end(), has)) return;
  to.push_back({prefix + std::string(quantity.name), 0, [&quantity, read](const Record& r) {
                  const auto value = read(quantity, r);
                  return value ? exact(value->value) : std::string();
                }});
  if (quantity.range.empty()) return;
  const auto limit = [&](const char* end, std::optional<double> statistics::Interval::*which) {
    to.push_back({prefix + std::string(quantity.range) + end, 0, [&quantity, read, which](auto& r) {
                    const auto value = read(quantity, r);
                    return value ? exact((*value).*which) : std::string();
                  }});
  };
  limit("_low", &statistics::Interval::low);
  limit("_high", &statistics::Interval::high);
}

// As the source says them, by the convention that stands beside.
void add_tflops(RecordColumns& to) {
  to.push_back({"tflops_per_gpu", 0, [](const Record& r) {
                  return r.measured.tflops.empty() ? "" : exact(r.measured.tflops[0].value);
                }});
  to.push_back({"tflops_convention", 0, [](const Record& r) {
                  return r.measured.tflops.empty() ? "" : r.measured.tflops[0].convention;
                }});
}

RecordColumns csv_columns(const Records& records) {
  RecordColumns out;
  out.push_back({"id", 0, [](const Record& r) { return r.id; }});
  out.push_back({"source", 0, [](const Record& r) { return r.source; }});
  out.push_back({"state", 0, [](const Record& r) { return std::string(name(r.state)); }});
  out.push_back({"failure", 0, [](const Record& r) {
                   return r.failure == record::Failure::none ? "" : std::string(name(r.failure));
                 }});
  std::set<std::string> seen;
  for (const auto& name : record::field_names()) {
    bool any = false;
    for (const auto& record : records) any = any || record.field(name) != nullptr;
    if (any && seen.insert(name).second) out.push_back(field_column(name));
  }
  for (const auto& record : records)
    for (const auto& field : record.fields)
      if (seen.insert(field.name).second) out.push_back(field_column(field.name));
  for (const auto& quantity : record::quantities()) {
    if (quantity.name == "tflops_per_gpu")
      add_tflops(out);
    else
      add_quantity(records, quantity, "", record::measured, out);
  }
  for (const auto& quantity : record::quantities())
    add_quantity(records, quantity, "estimated_", record::estimated, out);
  out.push_back({"doubts", 0, [](const Record& r) {
                   return join(mapped(r.doubts, &record::Doubt::reason), "; ");
                 }});
  out.push_back({"reason", 0, [](const Record& r) { return r.reason; }});
  return out;
}

}  // namespace

std::string records_csv(const Records& records) {
  const auto columns = csv_columns(records);
  std::vector<CsvCell> cells;
  for (const auto& column : columns) cells.emplace_back(column.title);
  CsvWriter out;
  out.row(cells);
  for (const auto& record : records) {
    cells.clear();
    for (const auto& column : columns) cells.emplace_back(column.text(record));
    out.row(cells);
  }
  return out.text();
}

}  // namespace orch::tables
