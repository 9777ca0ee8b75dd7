#include <fmt/format.h>
#include <fmt/ranges.h>  // join, where fmt is newer

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "core/base/units.h"
#include "core/plan/vocabulary.h"
#include "core/record/quantities.h"
#include "core/show/tables/columns.h"
#include "core/show/tables/ranking.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using plan::Planned;
using PlannedColumns = std::vector<Column<Planned>>;

constexpr std::string_view kStrategy = "strategy";

// Settings that all runs of a strategy share: said once above the table.
using Common = std::map<std::string, std::set<std::string>>;

// A field that all runs may share, and how much it is missed.
Column<Planned> field_column(std::string_view name, int rank) {
  const auto& term = *plan::find_term(name);
  return {std::string(term.head), rank,
          [&term](const Planned& p) { return plan::plain(term.read(p.run)); }, true};
}

Column<Planned> quantity_column(const record::Quantity& quantity) {
  return {std::string(quantity.head), quantity.rank, [&quantity](const Planned& p) {
            const auto value = record::estimated(quantity, p.estimate);
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

// Whose memory it is that does not suffice, where it is not the device's.
std::string fit_text(const Planned& planned) {
  const auto& e = planned.estimate;
  const bool host = e.fit == plan::Fit::oom && e.peak_memory <= e.usable_memory;
  return std::string(name(e.fit)) + (host ? " on the host" : "");
}

std::function<std::string(const Planned&)> rank_column(const RankedRuns& result) {
  std::unordered_map<const Planned*, std::string> texts;
  const auto all = ranks(result);
  for (std::size_t i = 0; i < all.size(); ++i) texts[result.runs[i]] = all[i].text();
  return [texts = std::move(texts)](const Planned& p) { return texts.at(&p); };
}

// Sizes by which models of one name differ.
PlannedColumns size_columns(const RankedRuns& result) {
  std::map<std::string_view, const plan::Run*> first;  // by its model's name
  std::vector<std::pair<const plan::Run*, const plan::Run*>> apart;
  for (const auto* planned : result.runs) {
    const auto& run = planned->run;
    const auto* same = first.try_emplace(run.model.name, &run).first->second;
    if (run.model != same->model) apart.emplace_back(same, &run);
  }
  PlannedColumns made;
  for (const auto& term : plan::vocabulary()) {
    if (term.name == "model" || term.name == "params" || term.name == "seq" || !plan::is_of_model(term.name))
      continue;
    if (std::ranges::any_of(apart, [&](const auto& two) { return term.read(*two.first) != term.read(*two.second); }))
      made.push_back(field_column(term.name, 1));
  }
  return made;
}

// All columns of a result. The strategy's leaves out the settings that are said already.
PlannedColumns columns(const RankedRuns& result, const Common& common) {
  PlannedColumns made{
      {"#", 0, rank_column(result)},
      {std::string(kStrategy), 0,
       [common](const Planned& p) { return strategy_text(p, common); }},
      field_column("model", 1),
      field_column("seq", 1),
      {"partition", 1,
       [](const Planned& p) { return p.run.cluster->name + "/" + p.run.partition->name; }, true},
      field_column("gpus", 0),
      field_column("tensor_parallel", 1),
      field_column("pipeline_parallel", 1),
      field_column("data_parallel", 8),
      field_column("micro_batch", 1),
      field_column("accumulate", 1),
      field_column("global_batch", 8),
      {"fit", 0, fit_text},
  };
  for (const auto& quantity : record::quantities()) {
    if (!quantity.estimated || quantity.rank == record::kUnshown) continue;
    made.push_back(quantity_column(quantity));
    if (quantity.name == "days_to_train")
      made.push_back({"90 % range", quantity.rank + 1, [](const Planned& p) {
                        return range_text(p.estimate.range_of(p.estimate.days_to_train));
                      }});
  }
  const auto sizes = size_columns(result);
  made.insert(made.begin() + 3, sizes.begin(), sizes.end());
  if (const auto& calendar = result.experiment->calendar; calendar.start)
    made.push_back({"ends", 3, [&calendar](const Planned& p) {
                      return day_text(calendar.end(p.estimate.portions(p.estimate.days_to_train)));
                    }});
  if (result.runs.size() < 2) made.erase(made.begin());  // nothing to rank
  return made;
}

Common common_settings(const std::vector<const Planned*>& runs) {
  Common common;
  for (const auto* run : runs) {
    if (const auto known = common.find(run->run.strategy->name); known != common.end() && known->second.empty())
      continue;
    const auto mine = split(plan::variant(run->run), ' ');
    const auto [place, fresh] = common.try_emplace(run->run.strategy->name, mine.begin(), mine.end());
    if (!fresh) std::erase_if(place->second, [&](const auto& s) { return !contains(mine, s); });
  }
  for (auto& [strategy, settings] : common) settings.erase("");
  return common;
}

// Takes out the inputs that are the same in every run: "title text" of each.
std::vector<std::string> take_common(PlannedColumns& columns, const std::vector<const Planned*>& runs) {
  std::vector<std::string> common;
  std::erase_if(columns, [&](const auto& column) {
    const auto first = column.text(*runs.front());
    const bool same =
        column.input && runs.size() > 1 &&
        std::all_of(runs.begin(), runs.end(), [&](const auto* p) { return column.text(*p) == first; });
    if (same) common.push_back(column.title + " " + first);
    return same;
  });
  return common;
}

std::size_t width_of(const Rows& rows) {
  std::size_t widest = 0;
  const auto text = grid(rows, {});
  for (const auto& line : split(text, '\n')) widest = std::max(widest, display_width(line));
  return widest;
}

// The strategy's column gives way when nothing else can be left out.
void shorten_strategy(Rows& rows, const Screen& screen) {
  const auto width = width_of(rows);
  if (screen.width == 0 || width <= screen.width) return;
  const auto& titles = rows.front();
  const auto c =
      static_cast<std::size_t>(std::find(titles.begin(), titles.end(), kStrategy) - titles.begin());
  std::size_t widest = 0;
  for (const auto& row : rows) widest = std::max(widest, display_width(row[c]));
  const auto excess = width - screen.width;
  const auto room = std::max<std::size_t>(8, widest > excess ? widest - excess : 0);
  for (auto& row : rows) row[c] = cut(row[c], room);
}

std::string_view fit_color(plan::Fit fit) {
  return fit == plan::Fit::oom ? "31" : fit == plan::Fit::tight ? "33" : "0";
}

std::string colored(const std::string& text, const std::vector<const Planned*>& runs,
                    const Screen& screen) {
  if (!screen.color) return text;
  const auto lines = split(text, '\n');
  std::string out = lines.front() + "\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool best = i == 0 && runs[i]->estimate.fit != plan::Fit::oom;
    out += paint(lines[i + 1], best ? "32" : fit_color(runs[i]->estimate.fit), screen) + "\n";
  }
  return out;
}

}  // namespace

std::string table(const RankedRuns& result, const Screen& screen, std::size_t top) {
  if (result.runs.empty()) return "";
  if (screen.markdown) return grid(fitting_rows(filled(columns(result, {}), result.runs), {}), screen);
  std::vector<const Planned*> runs;
  for (const auto& group : by_question(result))
    for (std::size_t i = 0; i < group.size() && (top == 0 || i < top); ++i)
      runs.push_back(group[i]);
  const auto common = common_settings(result.runs);
  auto shown = columns(result, common);
  std::string out;
  if (const auto inputs = take_common(shown, result.runs); !inputs.empty())
    out += wrap("all runs: " + join(inputs, ", ") + "\n", screen);
  for (const auto& [strategy, settings] : common)
    if (!settings.empty())
      out += wrap(fmt::format("all {}: {}\n", strategy, fmt::join(settings, " ")), screen);
  auto rows = fitting_rows(filled(shown, runs), screen);
  shorten_strategy(rows, screen);
  out += colored(grid(rows, {0, screen.color}), runs, screen);
  if (runs.size() < result.runs.size())
    out += fmt::format("… and {} slower ones (--top 0 shows all)\n",
                       group_digits(static_cast<double>(result.runs.size() - runs.size())));
  return out;
}

}  // namespace orch::tables
