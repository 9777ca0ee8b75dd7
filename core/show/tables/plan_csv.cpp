#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/plan/vocabulary.h"
#include "core/record/quantities.h"
#include "core/show/tables/ranking.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using plan::Planned;

CsvCell cell(const plan::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

constexpr int kDigits = 10;

// Bytes are whole.
CsvCell cell(const record::Quantity& quantity, std::optional<double> value) {
  if (value && is_in_bytes(quantity)) return fmt::format("{:.0f}", *value);
  return {value, kDigits};
}

// The fields of a run; those of a model where some run has them.
void add_terms(const std::vector<const Planned*>& runs, CsvColumns& to) {
  for (const auto& term : plan::vocabulary()) {
    if (!term.read) continue;
    if (plan::is_of_model(term.name) && std::ranges::none_of(runs, [&](const auto* planned) {
          return plan::is_given(term.read(planned->run));
        }))
      continue;
    to.push_back({std::string(term.name), [&term](const Planned& p) { return cell(term.read(p.run)); }});
    if (term.name == "strategy")
      to.push_back({"variant", [](const Planned& p) { return plan::variant(p.run); }});
  }
}

// The parameters of all strategies in the experiment's order, whatever the ranking, besides those that are
// fields of every run.
void add_settings(const RankedRuns& result, CsvColumns& to) {
  const auto add = [&](const plan::Strategy& strategy) {
    for (const auto& param : strategy.params)
      if (std::ranges::find(to, param.name, &CsvColumn::name) == to.end())
        to.push_back({param.name, [name = param.name](const Planned& p) {
                        const int i = p.run.strategy->index(name);
                        return i < 0 ? CsvCell() : cell(p.run.settings[static_cast<std::size_t>(i)]);
                      }});
  };
  for (const auto& asked : result.experiment->strategies) add(*asked.strategy);
  for (const auto* planned : result.runs) add(*planned->run.strategy);
}

void add_quantity(const record::Quantity& quantity, CsvColumns& to) {
  const auto add = [&](const std::string& name, auto read) {
    to.push_back({name, [&quantity, read](const Planned& p) {
                    const auto value = record::estimated(quantity, p.estimate);
                    return cell(quantity, value ? read(*value) : std::nullopt);
                  }});
  };
  add(std::string(quantity.name), [](const auto& value) { return std::optional(value.value); });
  if (quantity.range.empty()) return;
  add(fmt::format("{}_low", quantity.range), [](const auto& value) { return value.low; });
  add(fmt::format("{}_high", quantity.range), [](const auto& value) { return value.high; });
}

// The day on which a run ends, and the days that its range says.
void add_dates(const plan::Calendar& calendar, CsvColumns& to) {
  if (!calendar.start) return;
  to.push_back({"start", [&calendar](const Planned&) { return format_date(*calendar.start); }});
  const auto add = [&](const char* name, auto days) {
    to.push_back({name, [&calendar, days](const Planned& p) -> CsvCell {
                    const auto end = calendar.end(p.estimate.portions(days(p.estimate)));
                    return end ? CsvCell(format_date(*end)) : CsvCell();
                  }});
  };
  using plan::Estimate;
  add("ends", [](const Estimate& e) { return e.days_to_train; });
  add("ends_low", [](const Estimate& e) { return e.range_of(e.days_to_train).low; });
  add("ends_high", [](const Estimate& e) { return e.range_of(e.days_to_train).high; });
}

}  // namespace

CsvColumns csv_columns(const RankedRuns& result) {
  CsvColumns out;
  add_terms(result.runs, out);
  out.push_back({"fit", [](const Planned& p) { return name(p.estimate.fit); }});
  for (const auto& quantity : record::quantities())
    if (quantity.estimated) add_quantity(quantity, out);
  out.push_back({"tflops_convention", [](const Planned&) { return "megatron"; }});
  const auto& experiment = *result.experiment;
  if (plan::has_limits(experiment.budget))
    out.push_back({"budget", [&](const Planned& p) -> CsvCell {
                     if (p.estimate.fit == plan::Fit::oom) return "";
                     return name(standing(p, experiment));
                   }});
  add_dates(experiment.calendar, out);
  out.push_back({"priced_as", [](const Planned& p) { return p.estimate.stack; }});
  out.push_back({"remarks", [](const Planned& p) { return join(p.estimate.remarks, "; "); }});
  out.push_back({"fit_reason", [](const Planned& p) { return p.estimate.fit_reason; }});
  add_settings(result, out);
  return out;
}

std::string csv_header(const CsvColumns& columns) {
  std::string out = "rank,tie";
  for (const auto& column : columns) out += "," + column.name;
  return out;
}

std::vector<std::vector<CsvCell>> csv_rows(const RankedRuns& result, const CsvColumns& columns) {
  std::vector<std::vector<CsvCell>> rows;
  const auto places = ranks(result);
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    const auto& [place, tie] = places[i];
    auto& row =
        rows.emplace_back(std::vector<CsvCell>{place == 0 ? CsvCell() : CsvCell(place), tie});
    for (const auto& column : columns) row.push_back(column.cell(*result.runs[i]));
  }
  return rows;
}

std::string csv(const RankedRuns& result) {
  const auto columns = csv_columns(result);
  CsvWriter out(csv_header(columns));
  for (const auto& row : csv_rows(result, columns)) out.row(row);
  return out.text();
}

}  // namespace orch::tables
