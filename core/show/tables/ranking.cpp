#include "core/show/tables/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/tie.h"
#include "core/show/tables/report.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using plan::Planned;
using Runs = std::vector<const Planned*>;

bool fits(const Planned& run) { return run.estimate.fit != plan::Fit::oom; }

plan::Range range_of(const plan::Estimate& estimate, Measure measure) {
  if (measure == Measure::memory) return {estimate.memory_low, estimate.memory_high};
  return estimate.range_of(measure == Measure::time ? estimate.days_to_train : estimate.gpu_hours);
}

bool overlap(const Planned& a, const Planned& b, Measure measure = Measure::time) {
  if (measure == Measure::time) return plan::may_be_equal(plan::timing_of(a), plan::timing_of(b));
  return range_of(a.estimate, measure).overlaps(range_of(b.estimate, measure));
}

std::string tied_runs(const std::vector<Rank>& ranks, bool one_machine) {
  const auto is_tie = [](const Rank& rank) { return rank.tie; };
  const auto ties = std::count_if(ranks.begin(), ranks.end(), is_tie);
  if (ties == 0) return "";
  const bool first_ones = std::all_of(ranks.begin(), ranks.begin() + ties, is_tie);
  const auto count = static_cast<double>(first_ones ? ties : ties - 1);
  return fmt::format("{}{} cannot be told apart{}: {}\n", first_ones ? "the first " : "",
                     group_digits(count), first_ones ? "" : " from the first",
                     one_machine ? "their ratio may be 1" : "their 90 % ranges overlap");
}

// The best run of each strategy that has one, in their order.
Runs best_of_each(const Runs& runs) {
  Runs best;
  std::set<std::string> seen;
  for (const auto* run : runs)
    if (fits(*run) && seen.insert(run->run.strategy->name).second) best.push_back(run);
  return best;
}

std::string named(const Planned& run) {
  return run.run.strategy->name + " " + days_text(run.estimate);
}

std::string tied_strategies(const Runs& best) {
  if (best.size() < 2) return "";
  std::vector<std::string> first, slower;
  for (const auto* run : best)
    (overlap(*run, *best.front()) ? first : slower).push_back(named(*run));
  const auto last = first.back();
  first.pop_back();
  auto out = first.empty() ? last + " is the fastest" : join(first, ", ") + " and " + last + " tie";
  if (!slower.empty()) out += "; slower: " + join(slower, ", ");
  return "strategies at their best: " + out + "\n";
}

// Of one size.
std::vector<Rank> ranks_of(const Runs& runs, Measure measure) {
  std::vector<Rank> out(runs.size());
  for (std::size_t i = 0; i < runs.size() && fits(*runs[i]); ++i) {
    out[i].tie = i > 0 && overlap(*runs[i], *runs.front(), measure);
    out[i].place = out[i].tie ? 1 : i + 1;
    if (out[i].tie) out.front().tie = true;
  }
  return out;
}

std::string ties_in(const Runs& runs, Measure measure) {
  const auto best = best_of_each(runs);
  const auto fitting =
      std::count_if(runs.begin(), runs.end(), [](const auto* run) { return fits(*run); });
  // Where each strategy has but one run, the second sentence says it all.
  const bool one_each = best.size() > 1 && best.size() == static_cast<std::size_t>(fitting);
  const bool one_machine = measure == Measure::time &&
                           std::all_of(runs.begin(), runs.end(), [&](const auto* run) {
                             return plan::times_as_long(plan::timing_of(*run),
                                                        plan::timing_of(*runs.front()))
                                 .on_one_machine;
                           });
  return (one_each ? "" : tied_runs(ranks_of(runs, measure), one_machine)) + tied_strategies(best);
}

}  // namespace

std::string Rank::text() const {
  return place == 0 ? "" : std::to_string(place) + (tie ? "=" : "");
}

std::vector<Runs> by_size(const RankedRuns& result) {
  std::vector<Runs> groups;
  std::vector<double> params;
  for (const auto* run : result.runs) params.push_back(run->run.model.params());
  const auto classes = plan::size_classes(params);
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    if (i == 0 || (result.sizes_apart && classes[i] != classes[i - 1])) groups.emplace_back();
    groups.back().push_back(result.runs[i]);
  }
  return groups;
}

std::vector<Rank> ranks(const RankedRuns& result) {
  std::vector<Rank> out;
  for (const auto& runs : by_size(result))
    for (const auto& rank : ranks_of(runs, result.measure)) out.push_back(rank);
  return out;
}

std::string stacks_text(const RankedRuns& result) {
  std::string out;
  std::set<std::string> said;
  for (const auto* run : result.runs) {  // the best comes first, and speaks for those alike
    const auto& e = run->estimate;
    const auto& framework = run->run.framework;
    if (e.stack.empty() || !fits(*run)) continue;
    const auto who = run->run.strategy->name + (framework.empty() ? "" : " by " + framework);
    if (!said.insert(who + " " + e.stack).second) continue;
    auto remarks = e.remarks;
    for (auto& other : others_text(e)) remarks.push_back(std::move(other));
    out += fmt::format("{} is priced as {}{}{}\n", who, e.stack, remarks.empty() ? "" : ": ",
                       join(remarks, "; "));
  }
  return out;
}

std::string ties_text(const RankedRuns& result) {
  const auto groups = by_size(result);
  if (groups.size() < 2) return ties_in(result.runs, result.measure);
  std::string out;
  for (const auto& runs : groups) {
    if (!fits(*runs.front())) continue;
    out += fmt::format("the best of {}: {}, {}\n", size_text(runs.front()->run.model.params()),
                       runs.front()->run.model.name, named(*runs.front()));
    for (const auto& line : split(trim(ties_in(runs, result.measure)), '\n'))
      if (!line.empty()) out += "  " + line + "\n";
  }
  return out;
}

}  // namespace orch::tables
