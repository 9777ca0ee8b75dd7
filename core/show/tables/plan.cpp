#include "core/show/tables/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>  // for join, in newer versions of fmt

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/vocabulary.h"
#include "core/show/tables/ranking.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using plan::Planned;
using show::Cell, show::Column, show::Mark, show::Value;
using PlannedColumns = show::Columns<Planned>;

// Settings that all runs of a strategy share: printed once above the table.
using CommonValues = std::map<std::string, std::set<std::string>>;

CommonValues common_settings(const std::vector<const Planned*>& runs) {
  CommonValues common;
  for (const auto* run : runs) {
    if (const auto known = common.find(run->run.strategy->name);
        known != common.end() && known->second.empty())
      continue;
    const auto mine = split(plan::variant(run->run), ' ');
    const auto [place, fresh] =
        common.try_emplace(run->run.strategy->name, mine.begin(), mine.end());
    if (!fresh) std::erase_if(place->second, [&](const auto& s) { return !contains(mine, s); });
  }
  for (auto& [strategy, settings] : common) settings.erase("");
  return common;
}

// "deepspeed stage=1": the strategy and its settings, without those already printed.
std::string strategy_text(const Planned& planned, const CommonValues& common) {
  std::string out = planned.run.strategy->name;
  const auto said = common.find(out);
  for (const auto& setting : split(plan::variant(planned.run), ' '))
    if (!setting.empty() && (said == common.end() || !said->second.contains(setting)))
      out += " " + setting;
  return out;
}

// Names the memory that is too small, if it is not the device's.
std::string fit_text(const Planned& planned) {
  const auto& e = planned.estimate;
  const bool host = e.fit == plan::MemoryFit::oom && e.peak_memory <= e.usable_memory;
  return std::string(name(e.fit)) + (host ? " on the host" : "");
}

void add_ranks(const RankedRuns& result, PlannedColumns& to) {
  const auto places = std::make_shared<const std::vector<RunRank>>(ranks(result));
  to.add({"rank", result.runs.size() < 2 ? "" : "#", 0, [places](std::size_t row) -> Cell {
            const auto& rank = (*places)[row];
            return {rank.place > 0 ? Value(static_cast<std::int64_t>(rank.place)) : Value(),
                    rank.text()};
          }});
  to.add({"tie", "", 0, [places](std::size_t row) -> Cell { return (*places)[row].tie; }});
}

// Parameters and tokens are integers, however large.
Value counted(Value value) {
  const auto* real = std::get_if<double>(&value);
  return real && *real == std::floor(*real) && std::abs(*real) < 1e18
             ? Value(static_cast<std::int64_t>(*real))
             : value;
}

// Adds a field of a run; with a rank it is shown to people too, once above the table if all runs
// share its value.
void add_term(std::string_view name, std::optional<int> rank, PlannedColumns& to) {
  const auto& term = *plan::find_term(name);
  to.add(std::string(name), rank ? std::string(term.head) : "", rank.value_or(0),
         [&term](const Planned& p) { return counted(term.read(p.run)); })
      .shared = true;
}

// Adds the sizes in which models of the same name differ.
void add_differing_sizes(PlannedColumns& to) {
  std::map<std::string_view, const plan::Run*> first;  // by model name
  std::vector<std::pair<const plan::Run*, const plan::Run*>> apart;
  for (const auto* planned : to.rows()) {
    const auto& run = planned->run;
    const auto* same = first.try_emplace(run.model.name, &run).first->second;
    if (run.model != same->model) apart.emplace_back(same, &run);
  }
  for (const auto& term : plan::vocabulary()) {
    if (to.has(term.name) || term.name == "params" || term.name == "seq" ||
        !plan::is_of_model(term.name))
      continue;
    if (std::ranges::any_of(apart, [&](const auto& two) {
          return term.read(*two.first) != term.read(*two.second);
        }))
      add_term(term.name, 1, to);
  }
}

// Adds the other fields; fields of a model only if some run has them.
void add_other_terms(PlannedColumns& to) {
  for (const auto& term : plan::vocabulary()) {
    if (!term.read || to.has(term.name)) continue;
    const bool given = std::ranges::any_of(
        to.rows(), [&](const auto* p) { return plan::is_given(term.read(p->run)); });
    if (given || !plan::is_of_model(term.name)) add_term(term.name, std::nullopt, to);
  }
}

// Adds the parameters of all strategies in the experiment's order, independent of the ranking,
// except those that are fields of every run.
void add_settings(const RankedRuns& result, PlannedColumns& to) {
  std::set<const plan::Strategy*> seen;  // there are far more runs than strategies
  const auto add = [&](const plan::Strategy& strategy) {
    if (!seen.insert(&strategy).second) return;
    for (const auto& param : strategy.params)
      if (!to.has(param.name))
        to.add(param.name, [name = param.name](const Planned& p) {
          const int i = p.run.strategy->index(name);
          return i < 0 ? Value() : p.run.settings[static_cast<std::size_t>(i)];
        });
  };
  for (const auto& asked : result.experiment->strategies) add(*asked.strategy);
  for (const auto* planned : result.runs) add(*planned->run.strategy);
}

// " EUR"; empty if there are several currencies.
std::string currency_of(const PlannedColumns& of) {
  std::set<std::string> all;
  for (const auto* planned : of.rows()) all.insert(planned->estimate.currency);
  return all.size() != 1 || all.begin()->empty() ? "" : " " + *all.begin();
}

void add_estimates(PlannedColumns& to) {
  for (const auto& quantity : record::quantities()) {
    if (!quantity.estimated) continue;
    const bool shown = quantity.rank != record::kUnshown;
    auto title = shown ? std::string(quantity.head) : std::string();
    if (quantity.unit == record::Dimension::money) title += currency_of(to);
    const bool of_failures = quantity.name == "days_with_failures";
    to.add(std::string(quantity.name), std::move(title), quantity.rank,
           [&quantity, of_failures](const Planned& p) {
             auto cell = quantity_cell(quantity, record::estimated(quantity, p.estimate));
             if (of_failures && p.estimate.interruptions < 1) cell.text.clear();
             return cell;
           })
        .range = quantity.range;
    if (quantity.name == "days_to_train")
      to.add("", "90 % range", quantity.rank + 1, [](const Planned& p) -> Cell {
        return range_text(p.estimate.range_of(p.estimate.days_to_train));
      });
  }
}

// Adds the end date of a run, and the dates for its range.
void add_dates(const plan::Calendar& calendar, PlannedColumns& to) {
  if (!calendar.start) return;
  to.add("start", [&calendar](const Planned&) { return format_date(*calendar.start); });
  const auto add = [&](const char* name, const char* title, auto days) {
    to.add(name, title, 3, [&calendar, days](const Planned& p) -> Cell {
      const auto end = calendar.end(p.estimate.portions(days(p.estimate)));
      return {end ? Value(format_date(*end)) : Value(), day_text(end)};
    });
  };
  using plan::Estimate;
  add("ends", "ends", [](const Estimate& e) { return e.days_to_train; });
  add("ends_low", "", [](const Estimate& e) { return e.range_of(e.days_to_train).low; });
  add("ends_high", "", [](const Estimate& e) { return e.range_of(e.days_to_train).high; });
}

std::optional<double> lost_share(const plan::CheckpointInterval& interval) {
  return interval.lost > 0 ? std::optional(interval.lost) : std::nullopt;
}

void add_remarks(const plan::Experiment& experiment, PlannedColumns& to) {
  to.add("tflops_convention", [](const Planned&) { return "megatron"; });
  if (plan::has_limits(experiment.budget))
    to.add("budget", [&experiment](const Planned& p) -> Cell {
      return p.estimate.fit == plan::MemoryFit::oom ? Cell() : name(standing(p, experiment));
    });
  to.add("currency", [](const Planned& p) { return p.estimate.currency; });
  to.add("checkpoint_lost", [](const Planned& p) { return lost_share(p.estimate.checkpoint); });
  to.add("best_checkpoint_every", [](const Planned& p) -> Cell {
    const auto steps = p.estimate.best_checkpoint.steps;
    return steps > 0 ? Cell(steps) : Cell();
  });
  to.add("best_checkpoint_lost",
         [](const Planned& p) { return lost_share(p.estimate.best_checkpoint); });
  to.add("priced_as", [](const Planned& p) { return p.estimate.stack; });
  to.add("remarks", [](const Planned& p) { return join(p.estimate.remarks, "; "); });
  to.add("fit_reason", [](const Planned& p) { return p.estimate.fit_reason; });
  to.add("variant", [](const Planned& p) { return plan::variant(p.run); });
  to.add("warnings", [](const Planned& p) { return p.run.warnings.size(); });
}

Mark mark_of(const Planned& run, bool first) {
  const auto fit = run.estimate.fit;
  if (first && fit != plan::MemoryFit::oom) return Mark::good;
  return fit == plan::MemoryFit::oom     ? Mark::bad
         : fit == plan::MemoryFit::tight ? Mark::warning
                                         : Mark::none;
}

}  // namespace

show::Table runs_table(const RankedRuns& result, std::size_t top) {
  PlannedColumns columns(result.runs);
  columns.add("id", [](const Planned& p) { return p.run.id; });
  add_ranks(result, columns);
  const auto common = common_settings(result.runs);
  columns
      .add("strategy", "strategy", 0,
           [common](const Planned& p) -> Cell {
             return {Value(p.run.strategy->name), strategy_text(p, common)};
           })
      .gives_way = true;
  add_term("model", 1, columns);
  add_differing_sizes(columns);
  if (!columns.has("seq")) add_term("seq", 1, columns);
  columns
      .add("partition", "partition", 1,
           [](const Planned& p) -> Cell {
             return {Value(p.run.partition->name),
                     p.run.cluster->name + "/" + p.run.partition->name};
           })
      .shared = true;
  for (const auto& [name, rank] :
       std::initializer_list<std::pair<const char*, int>>{{"gpus", 0},
                                                          {"tensor_parallel", 1},
                                                          {"pipeline_parallel", 1},
                                                          {"data_parallel", 8},
                                                          {"micro_batch", 2},
                                                          {"accumulate", 2},
                                                          {"global_batch", 8}})
    add_term(name, rank, columns);
  columns.add("fit", "fit", 0, [](const Planned& p) -> Cell {
    return {Value(std::string(name(p.estimate.fit))), fit_text(p)};
  });
  add_estimates(columns);
  add_dates(result.experiment->calendar, columns);
  add_other_terms(columns);
  add_remarks(*result.experiment, columns);
  add_settings(result, columns);
  auto out = columns.table("runs");
  for (const auto& [strategy, settings] : common)
    if (!settings.empty())
      out.above.push_back(fmt::format("all {}: {}", strategy, fmt::join(settings, " ")));
  const auto groups = by_question(result);
  std::vector<std::size_t> first;
  std::size_t begin = 0;
  for (const auto& group : groups) {
    for (std::size_t i = 0; i < group.size() && (top == 0 || i < top); ++i)
      first.push_back(begin + i);
    begin += group.size();
  }
  if (first.size() < out.rows) out.first = first, out.others = "slower ones";
  out.mark = [runs = result.runs](std::size_t row) { return mark_of(*runs[row], row == 0); };
  return out;
}

}  // namespace orch::tables
