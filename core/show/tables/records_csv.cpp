#include <fmt/format.h>

#include <functional>
#include <set>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "core/show/tables/records.h"

namespace orch::tables {
namespace {

using record::Record;
using Records = std::vector<Record>;

struct Column {
  std::string title;
  std::function<std::string(const Record&)> text;
};

Column field_column(const std::string& name) {
  return {name, [name](const Record& r) { return r.field_text(name); }};
}

std::string exact(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

std::vector<Column> csv_columns(const Records& records) {
  using E = record::Estimated;
  std::vector<Column> out;
  out.push_back({"id", [](const Record& r) { return r.id; }});
  out.push_back({"source", [](const Record& r) { return r.source; }});
  out.push_back({"state", [](const Record& r) { return std::string(name(r.state)); }});
  out.push_back({"failure", [](const Record& r) {
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
  const auto step = [](std::string title, std::optional<double> statistics::Interval::*which) {
    return Column{std::move(title), [which](const Record& r) {
                    const auto& held = r.measured.step_seconds;
                    return held ? exact((*held).*which) : std::string();
                  }};
  };
  out.push_back({"step_seconds", [](const Record& r) {
                   const auto& held = r.measured.step_seconds;
                   return held ? exact(held->value) : std::string();
                 }});
  out.push_back(step("step_low", &statistics::Interval::low));
  out.push_back(step("step_high", &statistics::Interval::high));
  const auto measured = [&](std::string title, std::optional<double> record::Measurement::*which) {
    out.push_back(
        {std::move(title), [which](const Record& r) { return exact(r.measured.*which); }});
  };
  measured("tokens_per_second", &record::Measurement::tokens_per_second);
  measured("days_per_100b_tokens", &record::Measurement::days_per_100b_tokens);
  measured("peak_memory_bytes", &record::Measurement::peak_memory_bytes);
  measured("last_loss", &record::Measurement::last_loss);
  out.push_back({"tflops_per_gpu", [](const Record& r) {
                   return r.measured.tflops.empty() ? "" : exact(r.measured.tflops[0].value);
                 }});
  out.push_back({"tflops_convention", [](const Record& r) {
                   return r.measured.tflops.empty() ? "" : r.measured.tflops[0].convention;
                 }});
  const auto estimate = [&](std::string title, double E::*which) {
    out.push_back({std::move(title), [which](const Record& r) {
                     return r.estimated && r.estimated.value().*which > 0
                                ? fmt::format("{}", r.estimated.value().*which)
                                : std::string();
                   }});
  };
  estimate("estimated_step_seconds", &E::step_seconds);
  estimate("estimated_step_low", &E::step_low);
  estimate("estimated_step_high", &E::step_high);
  estimate("estimated_days_per_100b_tokens", &E::days_per_100b_tokens);
  estimate("estimated_peak_memory_bytes", &E::peak_memory_bytes);
  out.push_back({"doubts", [](const Record& r) {
                   std::vector<std::string> reasons;
                   for (const auto& doubt : r.doubts) reasons.push_back(doubt.reason);
                   return join(reasons, "; ");
                 }});
  out.push_back({"reason", [](const Record& r) { return r.reason; }});
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
