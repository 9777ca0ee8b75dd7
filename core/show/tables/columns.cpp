#include "core/show/tables/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/vocabulary.h"
#include "core/record/planned.h"
#include "core/show/tables/ranking.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using plan::Planned;

std::string text_of(const plan::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  return plan::show(value);
}

// A field that all runs may share, and how much it is missed.
Column field_column(std::string_view name, int rank) {
  const auto& term = *plan::find_term(name);
  return {std::string(term.head), rank, true,
          [&term](const Planned& p) { return text_of(term.read(p.run)); }};
}

Column quantity_column(const record::Quantity& quantity) {
  return {std::string(quantity.head), quantity.rank, false, [&quantity](const Planned& p) {
            const auto value = record::estimated(quantity, p);
            return value ? quantity_text(quantity.unit, value->value) : "";
          }};
}

// "deepspeed stage=1": the strategy and its settings, without those that are said already.
std::string strategy_text(const Planned& planned, const Common& common) {
  std::string out = planned.run.strategy->name;
  const auto said = common.find(out);
  for (const auto& setting : split(plan::variant(planned.run), ' '))
    if (!setting.empty() && (said == common.end() || !said->second.contains(setting)))
      out += " " + setting;
  return out;
}

std::function<std::string(const Planned&)> rank_column(const RankedRuns& result) {
  std::unordered_map<const Planned*, std::string> texts;
  const auto all = ranks(result);
  for (std::size_t i = 0; i < all.size(); ++i) texts[result.runs[i]] = all[i].text();
  return [texts = std::move(texts)](const Planned& p) { return texts.at(&p); };
}

std::function<std::string(const Planned&)> end_column(const plan::Calendar& calendar) {
  return [calendar](const Planned& p) {
    const auto end = calendar.end(p.estimate.portions(p.estimate.days_to_train));
    return end ? format_date(*end) : std::string("after 9999");
  };
}

}  // namespace

std::vector<Column> columns(const RankedRuns& result, const Common& common) {
  std::vector<Column> made{
      {"#", 0, false, rank_column(result)},
      {std::string(kStrategy), 0, false,
       [common](const Planned& p) { return strategy_text(p, common); }},
      field_column("model", 1),
      field_column("seq", 1),
      {"partition", 1, true,
       [](const Planned& p) { return p.run.cluster->name + "/" + p.run.partition->name; }},
      field_column("gpus", 0),
      field_column("tensor_parallel", 1),
      field_column("pipeline_parallel", 1),
      field_column("data_parallel", 8),
      field_column("micro_batch", 1),
      field_column("accumulate", 1),
      field_column("global_batch", 8),
      {"fit", 0, false, [](const Planned& p) { return std::string(name(p.estimate.fit)); }},
  };
  for (const auto& quantity : record::quantities()) {
    if (!quantity.estimated || quantity.rank == record::kUnshown) continue;
    made.push_back(quantity_column(quantity));
    if (quantity.name == "days_to_train")
      made.push_back({"90 % range", quantity.rank + 1, false, [](const Planned& p) {
                        return range_text(p.estimate.range_of(p.estimate.days_to_train));
                      }});
  }
  if (result.experiment->calendar.start)
    made.push_back({"ends", 3, false, end_column(result.experiment->calendar)});
  if (result.runs.size() < 2) made.erase(made.begin());  // nothing to rank
  return made;
}

Common common_settings(const std::vector<const Planned*>& runs) {
  Common common;
  for (const auto* run : runs) {
    const auto settings = split(plan::variant(run->run), ' ');
    const std::set<std::string> mine(settings.begin(), settings.end());
    const auto [place, fresh] = common.try_emplace(run->run.strategy->name, mine);
    if (!fresh) std::erase_if(place->second, [&](const auto& s) { return !mine.contains(s); });
  }
  for (auto& [strategy, settings] : common) settings.erase("");
  return common;
}

Split split_columns(const std::vector<Column>& columns, const std::vector<const Planned*>& runs) {
  Split split;
  for (const auto& column : columns) {
    const bool same = column.input && runs.size() > 1 &&
                      std::all_of(runs.begin(), runs.end(), [&](const Planned* p) {
                        return column.text(*p) == column.text(*runs.front());
                      });
    if (same)
      split.common.push_back(column.title + " " + column.text(*runs.front()));
    else
      split.varying.push_back(&column);
  }
  return split;
}

}  // namespace orch::tables
