#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/experiment.h"
#include "core/plan/planned.h"
#include "core/record/record.h"
#include "core/show/answer.h"

namespace orch::tables {

// The order of runs.
enum class RankBy { time, gpu_hours, memory };

// A run near those that an experiment lists, but not listed itself.
struct NearbyRun {
  plan::Planned planned;
  const plan::Planned* listed =
      nullptr;                       // the nearest listed run: of its strategy, for its question
  std::vector<std::string> changes;  // differences from that one: "micro_batch = 4"
};

// A run's place. Runs within the error of the first one share its place: their 90 % ranges overlap,
// or, for runs on one machine, whose errors are shared, 1 is within the 90 % range of their ratio.
struct RunRank {
  std::size_t place = 0;  // 0: does not fit
  bool tie = false;

  std::string text() const;  // "1=", "7", or empty
};

inline const std::vector<plan::RejectedRun> kNoneRejected;

// The result of an experiment: runs in the order of the measure, those that do not fit last;
// grouped by question (core/plan/tie.h) if questions are ranked separately.
struct RankedRuns {
  const plan::Experiment* experiment = nullptr;
  std::vector<const plan::Planned*> runs = {};
  const std::vector<plan::RejectedRun>* rejected = &kNoneRejected;
  std::size_t duplicates = 0;  // number of runs that the experiment describes more than once
  RankBy measure = RankBy::time;
  bool apart = false;
  std::vector<RunRank> places = {};  // if already computed
  // If nothing fits: what would; else what is a tenth faster than the best of its strategy.
  std::vector<NearbyRun> nearby = {};
};

// The runs of each question; one group if questions are not ranked separately.
std::vector<std::vector<const plan::Planned*>> by_question(const RankedRuns& result);
// "size", "sequence length", "machine": what distinguishes the questions of a result.
std::vector<std::string> what_differs(const RankedRuns& result);
// What the runs of a question have in common and others do not: "llama-3-8b, 4,096 tokens, on
// dgx-h100/h100-80g".
std::string question_text(const std::vector<const plan::Planned*>& runs, const RankedRuns& result);

// The result of an experiment in two or three sentences.
struct RankedAnswer {
  std::string best;    // the best run, its lead, its cost and its end
  std::string sure;    // how certain that is, and what would change it; empty if nothing fits
  std::string nearby;  // what is faster but not listed; empty: nothing
};
// Empty if there are no runs.
RankedAnswer answer(const RankedRuns& result);

// "megatron (TP 8, PP 12, micro-batch 1) on 96 GPUs: 300B tokens in 331 days (280–390), 762,624
// GPU-hours"; with the settings that distinguish it from others of its strategy.
std::string run_text(const plan::Planned& run, const std::vector<const plan::Planned*>& others,
                     const plan::Experiment& experiment);

// The rejected runs counted by reason, with one example and the fix for each.
show::Findings rejected_by_reason(const std::vector<plan::RejectedRun>& rejected);

// "2,000,000 EUR", "433,000 kWh"; in a budget money has no currency: that of the clusters' prices.
std::string expense_text(const plan::ExpenseLimit& of, double value, const std::string& currency);

// "3,000,000 GPU-hours and 200 days".
std::string limits_text(const plan::Budget& budget);

// How a run complies with the limits of an experiment. At risk: a limit lies within its 90 % range.
enum class RunStanding { kept, at_risk, broken };
std::string_view name(RunStanding standing);
RunStanding standing(const plan::Planned& run, const plan::Experiment& experiment);

// True if the estimate itself keeps them, whatever its range.
bool keeps(const plan::Planned& run, const plan::Experiment& experiment);

// The runs compared with the budget and deadline; over: no estimate keeps them.
struct ReportVerdict {
  std::string text;  // empty without a budget
  bool over = false;
};
ReportVerdict budget_verdict(const RankedRuns& result);

// Failures during the fastest run, what they and its checkpoint_every cost, and its energy; empty
// where less than one is expected.
std::string failures_text(const RankedRuns& result);

// The time of a training with failures, by cause.
show::Table lost_table(const plan::Estimate& estimate);

// What the time of a run was spent on, beside the shares of the estimate.
show::Table spent_table(const plan::Estimate& estimate, const record::Measurement& measured);

// When the fastest run ends, compared with the deadline; empty without a start.
std::string dates_text(const RankedRuns& result);

// "begins 2026-12-01 and ends 2027-03-14 (2027-03-02 to 2027-03-27)"; the calendar must have a
// start.
std::string when_text(const plan::Calendar& calendar, const plan::Estimate& estimate);

// Runs, and the best runs of strategies, within the error of the estimates: a line each, or empty.
std::string ties_text(const RankedRuns& result);

// The warnings of the runs, counted by subject.
show::Findings warnings_by_subject(const RankedRuns& result);

// Differences between frameworks and our trainers, by framework; empty if none is used.
std::string unequal_text(const RankedRuns& result);

// The stretches of a training as a table: by date if it has a start, else by day.
show::Table schedule_table(const plan::Estimate& estimate, const plan::Calendar& calendar);

// Memory and time of one run, item by item, with formulas; the items add up to the totals. Adds the
// measurement if the run was run.
show::Answer explain(const plan::Planned& run, const plan::Calendar& calendar,
                     const record::Measurement* measured = nullptr);

}  // namespace orch::tables
