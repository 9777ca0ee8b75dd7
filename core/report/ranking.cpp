#include "core/report/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/report/report.h"
#include "core/report/words.h"

namespace orch::report {
namespace {

using plan::Planned;
using Runs = std::vector<const Planned*>;

bool fits(const Planned& run) { return run.estimate.fit != plan::Fit::oom; }

plan::Range range_of(const plan::Estimate& estimate, Measure measure) {
  if (measure == Measure::memory) return {estimate.memory_low, estimate.memory_high};
  return estimate.range_of(measure == Measure::time ? estimate.days_to_train : estimate.gpu_hours);
}

bool overlap(const Planned& a, const Planned& b, Measure measure = Measure::time) {
  return range_of(a.estimate, measure).overlaps(range_of(b.estimate, measure));
}

std::string tied_runs(const std::vector<Rank>& ranks) {
  const auto is_tie = [](const Rank& rank) { return rank.tie; };
  const auto ties = std::count_if(ranks.begin(), ranks.end(), is_tie);
  if (ties == 0) return "";
  const bool first_ones = std::all_of(ranks.begin(), ranks.begin() + ties, is_tie);
  const auto count = static_cast<double>(first_ones ? ties : ties - 1);
  return fmt::format("{}{} cannot be told apart{}: their 90 % ranges overlap\n",
                     first_ones ? "the first " : "", group_digits(count),
                     first_ones ? "" : " from the first");
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

}  // namespace

std::string Rank::text() const {
  return place == 0 ? "" : std::to_string(place) + (tie ? "=" : "");
}

std::vector<Rank> ranks(const Runs& runs, Measure measure) {
  std::vector<Rank> out(runs.size());
  for (std::size_t i = 0; i < runs.size() && fits(*runs[i]); ++i) {
    out[i].tie = i > 0 && overlap(*runs[i], *runs.front(), measure);
    out[i].place = out[i].tie ? 1 : i + 1;
    if (out[i].tie) out.front().tie = true;
  }
  return out;
}

std::string ties_text(const Result& result) {
  const auto best = best_of_each(result.runs);
  const auto fitting = std::count_if(result.runs.begin(), result.runs.end(),
                                     [](const auto* run) { return fits(*run); });
  // Where each strategy has but one run, the second sentence says it all.
  const bool one_each = best.size() > 1 && best.size() == static_cast<std::size_t>(fitting);
  return (one_each ? "" : tied_runs(ranks(result.runs))) + tied_strategies(best);
}

}  // namespace orch::report
