#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/tie.h"
#include "core/show/tables/report.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using plan::Planned;
using PlannedRuns = std::vector<const Planned*>;
using AnswerParts = std::vector<std::string>;

bool fits(const Planned* run) { return run->estimate.fit != plan::MemoryFit::oom; }

// True if runs of one strategy differ in more than their layout.
bool has_variants(const Planned& planned, const PlannedRuns& runs) {
  return std::any_of(runs.begin(), runs.end(), [&](const Planned* run) {
    return run->run.strategy->name == planned.run.strategy->name &&
           plan::variant(run->run) != plan::variant(planned.run);
  });
}

// "megatron (TP 4, PP 12, micro-batch 2) on 384 GPUs".
std::string who(const Planned& planned, const PlannedRuns& runs) {
  const auto& run = planned.run;
  AnswerParts parts;
  if (const auto variant = plan::variant(run); !variant.empty() && has_variants(planned, runs))
    parts.push_back(variant);
  if (run.layout.tensor_parallel > 1)
    parts.push_back(fmt::format("TP {}", run.layout.tensor_parallel));
  if (run.layout.pipeline_parallel > 1)
    parts.push_back(fmt::format("PP {}", run.layout.pipeline_parallel));
  parts.push_back(fmt::format("micro-batch {}", run.batch.micro_batch));
  return fmt::format("{} ({}) on {}", run.strategy->name, join(parts, ", "),
                     plural(run.gpus, "GPU"));
}

std::string end_of(const Planned& planned, const plan::Experiment& experiment) {
  return day_text(experiment.calendar.end(planned.portions(planned.job_days())));
}

// ", 108 with failures"; empty where none is expected.
std::string with_failures(const Planned& planned) {
  const auto& e = planned.estimate;
  if (planned.run.steps > 0 || e.interruptions < 1) return "";
  return fmt::format(", {} with failures", significant(e.days_with_failures));
}

// "300B tokens in 106 days (90–124), 108 with failures, 974,760 GPU-hours (32 % of the budget),
// done 2027-03-14".
std::string price_and_end(const Planned& planned, const plan::Experiment& experiment) {
  const auto& run = planned.run;
  auto out = run.steps > 0
                 ? plural(run.steps, "step") + " in " + format_seconds(planned.job_days() * kDay)
                 : format_tokens(run.tokens) + " tokens in " + days_text(planned.estimate);
  out += with_failures(planned);
  const auto expense = planned.job_expense();
  for (const auto& each : plan::kExpenseLimits) {
    const double all = experiment.budget.*each.limit, here = expense.*each.amount;
    const bool always =
        each.amount == &plan::Expense::gpu_hours || each.amount == &plan::Expense::money;
    if ((!always && all <= 0) || here <= 0) continue;
    out += ", " + expense_text(each, here, planned.estimate.currency);
    if (all > 0) out += fmt::format(" ({} % of the budget)", group_digits(100 * here / all));
  }
  if (!experiment.calendar.start || run.steps > 0) return out;
  const auto end = experiment.calendar.end(planned.portions(planned.job_days()));
  return out + (end ? ", done " + day_text(end) : ", and the calendar has no days for all of it");
}

bool breaks(const Planned* run, const plan::Experiment& experiment) {
  return plan::has_limits(experiment.budget) && !keeps(*run, experiment);
}

// The fastest run of another strategy, or the first to end; if the best keeps the limits,
// preferably one that keeps them too.
const Planned* best_of_another(const PlannedRuns& runs, const plan::Experiment& experiment,
                               bool over = false) {
  const auto& best = *runs.front();
  const bool by_date = !experiment.calendar.windows.empty();
  const Planned* found = nullptr;
  for (const auto* run : runs) {
    const bool counts = fits(run) && run->run.strategy->name != best.run.strategy->name &&
                        (by_date || over || !breaks(run, experiment) || breaks(&best, experiment));
    if (counts &&
        (!found || (!by_date && run->estimate.days_to_train < found->estimate.days_to_train)))
      found = run;
  }
  return found || over ? found : best_of_another(runs, experiment, true);
}

std::string times_text(double times) {
  return times < 1.1 ? fmt::format("{:.0f} %", 100 * (times - 1)) : fmt::format("{:.1f}x", times);
}

// Copies of the experiment with one of its limits each.
std::vector<plan::Experiment> each_limit(const plan::Experiment& experiment) {
  const auto& all = experiment.budget;
  std::vector<plan::Experiment> out;
  const auto add = [&](auto limit) {
    auto& alone = out.emplace_back();
    alone.budget.*limit = all.*limit;
    alone.calendar = experiment.calendar;
  };
  for (const auto& each : plan::kExpenseLimits)
    if (all.*each.limit > 0) add(each.limit);
  if (all.deadline_days > 0) add(&plan::Budget::deadline_days);
  if (all.deadline) add(&plan::Budget::deadline);
  return out;
}

// Lists the limits that are broken.
std::string broken_limits(const Planned& run, const plan::Experiment& experiment) {
  AnswerParts out;
  for (const auto& one : each_limit(experiment))
    if (!keeps(run, one)) out.push_back(limits_text(one.budget));
  return and_list(out);
}

// By how much the next strategy is slower; if the number of nodes varies, by its end date.
std::string lead(const Planned& best, const Planned* other, const plan::Experiment& experiment) {
  if (other == nullptr) return "";
  if (!experiment.calendar.windows.empty())
    return fmt::format("; {} at its best is done {}", other->run.strategy->name,
                       end_of(*other, experiment));
  const auto ratio = plan::times_as_long(timing_of(*other), timing_of(best));
  const auto name = other->run.strategy->name + " at its best, " + days_text(other->estimate) + ",";
  const bool over = breaks(other, experiment) && !breaks(&best, experiment);
  const auto limit =
      over ? " and breaks the limit of " + broken_limits(*other, experiment) : std::string();
  if (ratio.low <= 1) return "; " + name + " may be as fast" + limit;
  return fmt::format("; {} takes {}{}", name,
                     ratio.value < 1.1 ? times_text(ratio.value) + " longer"
                                       : times_text(ratio.value) + " as long",
                     limit);
}

// The number of runs, in ranked order, before the first that is distinguishable from the best.
std::size_t ties_of(const PlannedRuns& runs, const plan::Experiment& experiment) {
  const bool limited = !breaks(runs.front(), experiment);  // then runs beyond a limit do not count
  std::size_t ties = 0;
  for (const auto* run : runs) {
    if (run == runs.front() || !fits(run) || (limited && breaks(run, experiment))) continue;
    if (!plan::may_be_equal(timing_of(*run), timing_of(*runs.front()))) break;
    ++ties;
  }
  return ties;
}

// How far the estimate is from measured rows.
std::string ground(const plan::Estimate& estimate) {
  if (estimate.stack.empty()) return "priced from datasheets, not calibrated";
  if (estimate.remarks.empty()) return "priced within the fitted rows of " + estimate.stack;
  return "priced as " + estimate.stack + ", but " + join(estimate.remarks, "; ");
}

// The conditions under which the answer would change.
std::string change(const Planned& best, const Planned* other, std::size_t ties) {
  if (other != nullptr) {
    const auto ratio = plan::times_as_long(timing_of(*other), timing_of(best));
    if (ratio.low <= 1) return "some steps of both strategies would tell them apart";
    return fmt::format(
        "{} would be first if it were {} faster than estimated (the ratio is {:.2f} to "
        "{:.2f} in nine of ten cases)",
        other->run.strategy->name, times_text(ratio.value), ratio.low, ratio.high);
  }
  return ties > 0 ? "some steps of each would tell" : "";
}

std::string tightness(const plan::Estimate& estimate) {
  if (estimate.fit != plan::MemoryFit::tight) return "";
  return fmt::format("its memory is tight ({:.1f} of {:.1f} GiB)", estimate.peak_memory / kGiB,
                     estimate.usable_memory / kGiB);
}

std::string limits(const Planned& best, const plan::Experiment& experiment) {
  AnswerParts broken, at_risk;
  for (const auto& one : each_limit(experiment)) {
    const auto stands = standing(best, one);
    if (stands == RunStanding::broken) broken.push_back(limits_text(one.budget));
    if (stands == RunStanding::at_risk) at_risk.push_back(limits_text(one.budget));
  }
  AnswerParts out;
  if (!broken.empty()) out.push_back("it breaks the limit of " + and_list(broken));
  if (!at_risk.empty()) out.push_back("it may break the limit of " + and_list(at_risk));
  return join(out, "; ");
}

bool offloads(const Planned& planned) {
  const auto where = planned.run.text_setting("offload");
  return !where.empty() && where != "none";
}

// Runs in the order of recommendation: runs that fit and keep the limits come first; if the number
// of nodes varies, those that end first; among those within the error of the fastest one's
// estimate, the simplest; the rest as ranked.
PlannedRuns by_preference(const PlannedRuns& ranked, const plan::Experiment& experiment) {
  const auto& calendar = experiment.calendar;
  const auto simplicity = [&](const Planned& planned) {
    if (!plan::may_be_equal(timing_of(planned), timing_of(*ranked.front()))) return 2;
    return offloads(planned) ? 1 : 0;
  };
  std::vector<std::tuple<bool, bool, double, int, std::size_t>> keys;
  for (std::size_t i = 0; i < ranked.size(); ++i)
    keys.emplace_back(!fits(ranked[i]), breaks(ranked[i], experiment),
                      calendar.windows.empty()
                          ? 0
                          : calendar.calendar_days(ranked[i]->portions(ranked[i]->job_days())),
                      offloads(*ranked.front()) ? simplicity(*ranked[i]) : 0, i);
  std::ranges::sort(keys);
  return mapped(keys, [&](const auto& key) { return ranked[std::get<4>(key)]; });
}

// Why the recommended run is not the fastest.
std::string instead_of(const Planned& fastest, const PlannedRuns& runs,
                       const plan::Experiment& experiment) {
  if (&fastest == runs.front()) return "";
  const bool for_limits = breaks(&fastest, experiment) && !breaks(runs.front(), experiment);
  return fmt::format("the fastest, {}, {}", who(fastest, runs),
                     for_limits ? "breaks the limit of " + broken_limits(fastest, experiment)
                     : experiment.calendar.windows.empty()
                         ? "offloads, and may be no faster"
                         : "is done " + end_of(fastest, experiment));
}

// The needed share of the device's memory or of the host's, whichever is larger.
double needed_share(const Planned* run) {
  const auto& e = run->estimate;
  return std::max(e.peak_memory / e.usable_memory,
                  e.host_memory / run->run.partition->host_memory.value);
}

const NearbyRun* nearby_of(const PlannedRuns& runs, const std::vector<NearbyRun>& all) {
  const auto found =
      std::ranges::find_if(all, [&](const NearbyRun& each) { return contains(runs, each.listed); });
  return found == all.end() ? nullptr : &*found;
}

std::string nothing_fits(const PlannedRuns& runs) {
  const auto& least = **std::ranges::min_element(runs, {}, needed_share);
  const auto& e = least.estimate;
  const bool host = e.peak_memory <= e.usable_memory;
  return fmt::format("nothing fits as it is: the closest, {}, needs {:.1f} of {:.1f} GiB{}",
                     who(least, runs), (host ? e.host_memory : e.peak_memory) / kGiB,
                     (host ? least.run.partition->host_memory.value : e.usable_memory) / kGiB,
                     host ? " on the host" : "");
}

// The name of a listed run: its strategy, if that is unique.
std::string listed_text(const Planned& listed, const PlannedRuns& runs) {
  const bool alone = std::ranges::all_of(
      runs, [&](const Planned* run) { return run->run.gpus == listed.run.gpus; });
  return alone && !has_variants(listed, runs) ? listed.run.strategy->name : who(listed, runs);
}

// Suggests what would fit, if that is known.
RankedAnswer without_fit(const PlannedRuns& runs, const std::vector<NearbyRun>& nearby,
                         const plan::Experiment& experiment) {
  const auto* found = nearby_of(runs, nearby);
  if (!found) return {nothing_fits(runs) + ".", "", ""};
  const auto& [planned, listed, changes] = *found;
  const auto name = planned.run.gpus == listed->run.gpus ? listed_text(*listed, runs)
                                                         : listed->run.strategy->name;
  return {fmt::format("{}; {} fits with {}: {}.", nothing_fits(runs), name,
                      and_list(found->changes), price_and_end(found->planned, experiment)),
          ground(found->planned.estimate) + ".", ""};
}

// Faster configurations that the experiment does not list.
std::string not_listed(const PlannedRuns& runs, const std::vector<NearbyRun>& nearby) {
  AnswerParts parts;
  for (const auto& each : nearby)
    if (contains(runs, each.listed) && !fits(each.listed))
      parts.push_back(fmt::format("{}, which does not fit as it is listed, reaches {} days with {}",
                                  each.listed->run.strategy->name,
                                  amount(each.planned.estimate.days_to_train),
                                  and_list(each.changes)));
    else if (contains(runs, each.listed))
      parts.push_back(
          fmt::format("{} reaches {} days instead of {} with {}", listed_text(*each.listed, runs),
                      amount(each.planned.estimate.days_to_train),
                      amount(each.listed->estimate.days_to_train), and_list(each.changes)));
  return parts.empty() ? "" : join(parts, "; ") + ".";
}

RankedAnswer answer_of(const PlannedRuns& ranked, const std::vector<NearbyRun>& nearby,
                       const plan::Experiment& experiment) {
  const auto runs = by_preference(ranked, experiment);
  const auto& best = *runs.front();
  if (!fits(&best)) return without_fit(runs, nearby, experiment);
  const bool by_date = !experiment.calendar.windows.empty();
  const auto* other = best_of_another(runs, experiment);
  const auto ties = by_date ? 0 : ties_of(runs, experiment);
  AnswerParts parts{ground(best.estimate)};
  for (auto& text : others_text(best.estimate)) parts.push_back(std::move(text));
  if (ties > 0) parts.push_back(plural(ties, "more run") + " may be as fast");
  for (auto part :
       {instead_of(*ranked.front(), runs, experiment), by_date ? "" : change(best, other, ties),
        tightness(best.estimate), limits(best, experiment)})
    if (!part.empty()) parts.push_back(std::move(part));
  return {fmt::format("{} is best: {}{}.", who(best, runs), price_and_end(best, experiment),
                      lead(best, other, experiment)),
          join(parts, "; ") + ".", not_listed(runs, nearby)};
}

}  // namespace

std::string run_text(const Planned& run, const PlannedRuns& others,
                     const plan::Experiment& experiment) {
  return who(run, others) + ": " + price_and_end(run, experiment);
}

RankedAnswer answer(const RankedRuns& result) {
  if (result.runs.empty()) return {};
  const auto groups = by_question(result);
  if (groups.size() == 1) return answer_of(result.runs, result.nearby, *result.experiment);
  constexpr std::size_t kMost = 3;  // stretches with a stated certainty: the last and largest ones
  AnswerParts bests, sure, nearby;
  for (const auto& runs : groups) {
    const auto& first = *by_preference(runs, *result.experiment).front();
    const auto found = answer_of(runs, result.nearby, *result.experiment);
    const auto about = question_text(runs, result) + ": ";
    bests.push_back(
        about + (fits(&first) ? who(first, runs) + ", " + price_and_end(first, *result.experiment)
                              : found.best.substr(0, found.best.size() - 1)));
    if (!found.sure.empty()) sure.push_back(about + found.sure);
    if (!found.nearby.empty()) nearby.push_back(about + found.nearby);
  }
  if (const auto all = sure.size(); all > kMost) {
    sure.erase(sure.begin(), sure.end() - kMost);
    sure.push_back(fmt::format("The other {}: orch explain.", all - kMost));
  }
  return {
      "the best of each " + and_list(what_differs(result)) + ":\n  " + join(bests, ";\n  ") + ".",
      join(sure, " "), join(nearby, " ")};
}

}  // namespace orch::tables
