#include <fmt/format.h>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/tables/report.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using plan::Experiment;
using plan::Planned;

// "656,941 GPU-hours (66 %) and 213.8 days, 237.6 on the calendar".
std::string price(const Planned& run, const Experiment& experiment) {
  const auto expense = run.job_expense();
  std::vector<std::string> amounts;
  for (const auto& each : plan::kExpenseLimits) {
    const double all = experiment.budget.*each.limit, here = expense.*each.amount;
    const bool always = each.amount == &plan::Expense::gpu_hours;
    if (!always && all <= 0) continue;
    amounts.push_back(expense_text(each, here, run.estimate.currency) +
                      (all > 0 ? fmt::format(" ({} %)", group_digits(100 * here / all)) : ""));
  }
  auto out = join(amounts, ", ");
  out += fmt::format(" and {:.1f} days", run.job_days());
  if (run.run.steps > 0)
    out += fmt::format(" for {} steps", group_digits(static_cast<double>(run.run.steps)));
  const double stretched = experiment.calendar.calendar_days(run.portions(run.job_days()));
  if (experiment.calendar.stretches()) out += fmt::format(", {:.1f} on the calendar", stretched);
  return out;
}

// "79 days before the deadline", and that it is at risk if its range reaches beyond it.
std::string against_deadline(const plan::Estimate& estimate, const Experiment& experiment) {
  const auto deadline = *experiment.budget.deadline;
  const auto& calendar = experiment.calendar;
  const auto range = estimate.range_of(estimate.days_to_train);
  const auto low = calendar.end(estimate.portions(range.low)),
             end = calendar.end(estimate.portions(estimate.days_to_train)),
             high = calendar.end(estimate.portions(range.high));
  std::string out = "long after the deadline";
  if (end) {
    const auto days = (deadline - *end).count();
    out = days == 0 ? "on the day of the deadline"
                    : fmt::format("{} {} the deadline", plural(std::abs(days), "day"),
                                  days > 0 ? "before" : "after");
  }
  const bool at_risk = low && *low <= deadline && !(high && *high <= deadline);
  return out + (at_risk ? ": at risk" : "");
}

// If more nodes become available later, a slower run on fewer nodes may end before the fastest.
std::string first_to_end(const RankedRuns& result) {
  const auto& calendar = result.experiment->calendar;
  if (calendar.windows.empty()) return "";
  const auto days = [&](const Planned* run) {
    return calendar.calendar_days(run->estimate.portions(run->estimate.days_to_train));
  };
  const Planned* first = result.runs.front();
  for (const auto* run : result.runs)
    if (run->estimate.fit != plan::MemoryFit::oom && days(run) < days(first)) first = run;
  if (first == result.runs.front()) return "";
  return fmt::format("\nthe first to end is {} on {}: it {}", first->run.strategy->name,
                     plural(first->run.nodes, "node"), when_text(calendar, first->estimate));
}

}  // namespace

std::string expense_text(const plan::ExpenseLimit& of, double value, const std::string& currency) {
  const bool has_currency = of.amount == &plan::Expense::money && !currency.empty();
  return amount(value) + " " + (has_currency ? currency : of.unit);
}

std::string limits_text(const plan::Budget& budget) {
  std::vector<std::string> parts;
  for (const auto& each : plan::kExpenseLimits)
    if (budget.*each.limit > 0) parts.push_back(expense_text(each, budget.*each.limit, ""));
  if (budget.deadline_days > 0)
    parts.push_back(
        fmt::format("{:g} day{}", budget.deadline_days, budget.deadline_days == 1 ? "" : "s"));
  if (budget.deadline) parts.push_back("a deadline on " + format_date(*budget.deadline));
  return and_list(parts);
}

std::string_view name(RunStanding standing) {
  return standing == RunStanding::kept     ? "kept"
         : standing == RunStanding::broken ? "broken"
                                           : "at risk";
}

bool keeps(const Planned& run, const Experiment& experiment) {
  return plan::keeps_limits(experiment, run.job_expense(), run.portions(run.job_days()));
}

RunStanding standing(const Planned& run, const Experiment& experiment) {
  const auto expense = run.job_expense();
  const auto hours = run.estimate.range_of(expense.gpu_hours);
  const auto factors = run.estimate.range_with_failures(1);
  const auto days = run.estimate.range_of(run.job_days());
  const auto kept = [&](double factor, double gpu_hours, double job_days) {
    auto bound = expense.times(factor);
    bound.gpu_hours = gpu_hours;
    return plan::keeps_limits(experiment, bound, run.portions(job_days));
  };
  if (kept(factors.high, hours.high, days.high)) return RunStanding::kept;
  return kept(factors.low, hours.low, days.low) ? RunStanding::at_risk : RunStanding::broken;
}

ReportVerdict budget_verdict(const RankedRuns& result) {
  const auto& experiment = *result.experiment;
  if (!plan::has_limits(experiment.budget)) return {};
  const Planned* cheapest = nullptr;
  std::size_t fitting = 0, within = 0, at_risk = 0, at_risk_within = 0;
  for (const auto* run : result.runs) {
    if (run->estimate.fit == plan::MemoryFit::oom) continue;
    ++fitting;
    if (!cheapest || run->job_hours() < cheapest->job_hours()) cheapest = run;
    within += keeps(*run, experiment);
    const bool risky = standing(*run, experiment) == RunStanding::at_risk;
    at_risk += risky;
    at_risk_within += risky && keeps(*run, experiment);
  }
  if (!cheapest) return {"budget: no run fits its GPUs, so none can keep it", false};
  auto text = fmt::format("budget of {}: kept by {} of {} that fit", limits_text(experiment.budget),
                          within, plural(fitting, "run"));
  if (at_risk_within > 0)
    text +=
        fmt::format(", {} of them at risk (a limit lies within the 90 % range)", at_risk_within);
  if (at_risk > at_risk_within)
    text +=
        fmt::format("; {} more may keep it, at the low end of the range", at_risk - at_risk_within);
  text += "; the cheapest takes " + price(*cheapest, experiment);
  return {text, within == 0};
}

std::string when_text(const plan::Calendar& calendar, const plan::Estimate& estimate) {
  const auto day = [&](double days) { return day_text(calendar.end(estimate.portions(days))); };
  const auto range = estimate.range_of(estimate.days_to_train);
  const auto spans = calendar.spans(estimate.portions(estimate.days_to_train));
  const auto begins = "begins " + day_text(calendar.date(spans.front().from));
  if (!calendar.end(estimate.portions(range.low)))
    return begins + " and never ends: the calendar has no days for all of it";
  return fmt::format("{} and ends {} ({} to {})", begins, day(estimate.days_to_train),
                     day(range.low), day(range.high));
}

std::string dates_text(const RankedRuns& result) {
  const auto& experiment = *result.experiment;
  const auto& calendar = experiment.calendar;
  if (!calendar.start || result.runs.empty()) return "";
  const auto& fastest = result.runs.front()->estimate;
  if (fastest.fit == plan::MemoryFit::oom) return "";
  auto out = "the fastest " + when_text(calendar, fastest);
  if (calendar.availability < 1)
    out += fmt::format(" at {:.3g} % availability", 100 * calendar.availability);
  if (experiment.budget.deadline) out += ", " + against_deadline(fastest, experiment);
  return out + first_to_end(result);
}

}  // namespace orch::tables
