#include "core/show/tables/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/stack.h"
#include "core/plan/tie.h"
#include "core/show/tables/report.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using plan::Planned;
using PlannedRuns = std::vector<const Planned*>;

bool fits(const Planned& run) { return run.estimate.fit != plan::MemoryFit::oom; }

plan::EstimateRange range_of(const plan::Estimate& estimate, RankBy measure) {
  if (measure == RankBy::memory) return {estimate.memory_low, estimate.memory_high};
  return estimate.range_of(measure == RankBy::time ? estimate.days_to_train : estimate.gpu_hours);
}

bool overlap(const Planned& a, const Planned& b, RankBy measure = RankBy::time) {
  if (measure == RankBy::time) return plan::may_be_equal(plan::timing_of(a), plan::timing_of(b));
  return range_of(a.estimate, measure).overlaps(range_of(b.estimate, measure));
}

std::string tied_runs(const std::vector<RunRank>& ranks, RankBy measure) {
  const auto ties = std::ranges::count_if(ranks, &RunRank::tie);  // the first itself is counted
  return ties == 0 ? "" : tie_text(static_cast<std::size_t>(ties) - 1, "run", measure) + "\n";
}

// The best run of each strategy, in the order of the runs.
PlannedRuns best_of_each(const PlannedRuns& runs) {
  PlannedRuns best;
  std::set<std::string> seen;
  for (const auto* run : runs)
    if (fits(*run) && seen.insert(run->run.strategy->name).second) best.push_back(run);
  return best;
}

std::string named(const Planned& run) {
  return run.run.strategy->name + " " + days_text(run.estimate);
}

std::string tied_strategies(const PlannedRuns& best) {
  if (best.size() < 2) return "";
  std::vector<std::string> first, slower;
  for (const auto* run : best)
    (overlap(*run, *best.front()) ? first : slower).push_back(named(*run));
  auto out = and_list(first) + (first.size() == 1 ? " is the fastest" : " tie");
  if (!slower.empty()) out += "; slower: " + join(slower, ", ");
  return "strategies at their best: " + out + "\n";
}

// The ranks within one question. Ties end at the first run that is distinguishable from the best:
// places never interleave.
std::vector<RunRank> ranks_of(const PlannedRuns& runs, RankBy measure) {
  std::vector<RunRank> out(runs.size());
  bool may_tie = true;
  for (std::size_t i = 0; i < runs.size() && fits(*runs[i]); ++i) {
    may_tie = may_tie && overlap(*runs[i], *runs.front(), measure);
    out[i].tie = i > 0 && may_tie;
    out[i].place = out[i].tie ? 1 : i + 1;
    if (out[i].tie) out.front().tie = true;
  }
  return out;
}

std::string ties_in(const PlannedRuns& runs, RankBy measure) {
  const auto best = best_of_each(runs);
  const auto fitting =
      std::count_if(runs.begin(), runs.end(), [](const auto* run) { return fits(*run); });
  // If each strategy has only one run, the second sentence is enough.
  const bool one_each = best.size() > 1 && best.size() == static_cast<std::size_t>(fitting);
  return (one_each ? "" : tied_runs(ranks_of(runs, measure), measure)) + tied_strategies(best);
}

std::string rows_text(std::int64_t rows) {
  return fmt::format(" ({} fitted)", plural(rows, "row"));
}

// " as megatron-deepspeed-2022 (949 rows fitted)"; empty if no stack is known.
std::string software_text(const Planned& run) {
  if (run.estimate.stack.empty()) return "";
  const auto* found = plan::stack_of(run.run);
  const bool fitted = found && found->stack->fitted();
  return " as " + run.estimate.stack + (fitted ? rows_text(found->stack->seen.rows) : "");
}

// "jean-zay/a100-80g (117 rows fitted)".
std::string machine_text(const plan::Run& run) {
  constexpr std::string_view kFitted = "fitted: ";
  const auto& partition = *run.partition;
  const auto name = run.cluster->name + "/" + partition.name;
  if (partition.calibration && partition.calibration->seen.rows > 0)
    return name + rows_text(partition.calibration->seen.rows);
  if (const auto& measured = run.cluster->measured)
    return fmt::format("{} (measurements of {} on {})", name, measured->machine, measured->date);
  const std::string_view origin = partition.as_measured().efficiency.time_spread.origin;
  if (origin.starts_with(kFitted))
    return fmt::format("{} ({})", name, origin.substr(kFitted.size()));
  return name + " (datasheet, not calibrated)";
}

}  // namespace

std::string RunRank::text() const {
  return place == 0 ? "" : std::to_string(place) + (tie ? "=" : "");
}

std::string tie_text(std::size_t more, std::string_view noun, RankBy measure) {
  const auto* as_good = measure == RankBy::time        ? "be as fast"
                        : measure == RankBy::gpu_hours ? "take as few GPU-hours"
                                                       : "need as little memory";
  return fmt::format("{} may {} (within the error of the estimates)",
                     plural(more, "more " + std::string(noun)), as_good);
}

std::vector<PlannedRuns> by_question(const RankedRuns& result) {
  std::vector<PlannedRuns> groups;
  const auto questions =
      plan::questions_of(mapped(result.runs, [](const auto* planned) { return &planned->run; }));
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    if (i == 0 || (result.apart && questions[i] != questions[i - 1])) groups.emplace_back();
    groups.back().push_back(result.runs[i]);
  }
  return groups;
}

std::vector<std::string> what_differs(const RankedRuns& result) {
  const auto& first = result.runs.front()->run;
  const auto classes =
      plan::size_classes(mapped(result.runs, [](const auto* p) { return p->run.model.params(); }));
  const auto differs = [&](auto differ) { return std::ranges::any_of(result.runs, differ); };
  std::vector<std::string> out;
  if (std::ranges::any_of(classes, [&](auto each) { return each != classes.front(); }))
    out.push_back("size");
  if (differs([&](const auto* p) { return p->run.model.seq != first.model.seq; }))
    out.push_back("sequence length");
  const auto is_elsewhere = [&](const auto* p) {
    return p->run.partition != first.partition &&
           plan::machine_of(p->run) != plan::machine_of(first);
  };
  if (differs(is_elsewhere)) out.push_back("machine");
  return out;
}

std::string question_text(const PlannedRuns& runs, const RankedRuns& result) {
  const auto& run = runs.front()->run;
  std::vector<std::string> parts;
  for (const auto& what : what_differs(result))
    parts.push_back(what == "size"      ? run.model.name
                    : what == "machine" ? plan::machine_of(run)
                                        : plural(run.model.seq, "token"));
  return join(parts, ", ");
}

std::vector<RunRank> ranks(const RankedRuns& result) {
  if (!result.places.empty()) return result.places;
  std::vector<RunRank> out;
  for (const auto& runs : by_question(result))
    for (const auto& rank : ranks_of(runs, result.measure)) out.push_back(rank);
  return out;
}

std::string stacks_text(const RankedRuns& result) {
  std::string out;
  std::set<std::string> said;
  for (const auto* run : result.runs) {  // the best one, which represents its stack
    const auto& e = run->estimate;
    const auto& framework = run->run.framework;
    if (!fits(*run)) continue;
    const auto who = run->run.strategy->name + (framework.empty() ? "" : " by " + framework);
    const auto where = software_text(*run) + " on " + machine_text(run->run);
    if (!said.insert(who + where).second) continue;
    auto remarks = e.remarks;
    for (auto& other : others_text(e)) remarks.push_back(std::move(other));
    out += fmt::format("{} is priced{}{}{}\n", who, where, remarks.empty() ? "" : ": ",
                       join(remarks, "; "));
  }
  return out;
}

std::string ties_text(const RankedRuns& result) {
  const auto groups = by_question(result);
  if (groups.size() < 2) return ties_in(result.runs, result.measure);
  std::string out;
  for (const auto& runs : groups) {
    if (!fits(*runs.front())) continue;
    out += fmt::format("the best of {}: {}\n", question_text(runs, result), named(*runs.front()));
    for (const auto& line : split(trim(ties_in(runs, result.measure)), '\n'))
      if (!line.empty()) out += "  " + line + "\n";
  }
  return out;
}

}  // namespace orch::tables
