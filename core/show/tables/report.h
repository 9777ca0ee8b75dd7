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

// What runs are ordered by.
enum class Measure { time, gpu_hours, memory };

// A run that an experiment does not list, found near those that it does.
struct Nearby {
  plan::Planned planned;
  const plan::Planned* listed =
      nullptr;                       // the nearest that is: of its strategy, about its question
  std::vector<std::string> changes;  // from that one: "micro_batch = 4"
};

// A run's place. Runs that cannot be told from the first one share it: their 90 % ranges overlap,
// or, of runs on one machine, whose errors are shared, 1 is within the 90 % range of their ratio.
struct Rank {
  std::size_t place = 0;  // 0: does not fit
  bool tie = false;

  std::string text() const;  // "1=", "7", or nothing
};

// What an experiment came to: runs in the order of the measure, those that do not fit last; by the
// question that they are about first (core/plan/tie.h), where these are ranked apart.
struct RankedRuns {
  const plan::Experiment* experiment = nullptr;
  std::vector<const plan::Planned*> runs;
  const std::vector<plan::Rejected>* rejected = nullptr;
  std::size_t duplicates = 0;  // runs that the experiment describes more than once
  Measure measure = Measure::time;
  bool apart = false;
  std::vector<Rank> places = {};  // where they are known already
  // Where nothing fits, what would; else what is a tenth faster than the best of its strategy.
  std::vector<Nearby> nearby = {};
};

// The runs of each question; all together, where these are not ranked apart.
std::vector<std::vector<const plan::Planned*>> by_question(const RankedRuns& result);
// "size", "sequence length", "machine": what tells the questions of a result apart.
std::vector<std::string> what_differs(const RankedRuns& result);
// What the runs of a question have in common and others have not: "llama-3-8b, 4,096 tokens, on
// dgx-h100/h100-80g".
std::string question_text(const std::vector<const plan::Planned*>& runs, const RankedRuns& result);

// What an experiment comes to, in two or three sentences.
struct Answer {
  std::string best;    // what is best, by how much, what it costs and when it ends
  std::string sure;    // how sure that is, and what would change it; empty where nothing fits
  std::string nearby;  // what is faster and not listed; empty where nothing is
};
// Of no runs there is none.
Answer answer(const RankedRuns& result);

// "megatron (TP 8, PP 12, micro-batch 1) on 96 GPUs: 300B tokens in 331 days (280–390), 762,624
// GPU-hours"; with the settings that tell it from others of its strategy.
std::string run_text(const plan::Planned& run, const std::vector<const plan::Planned*>& others,
                     const plan::Experiment& experiment);

// The rejected runs counted by reason, with one example and the fix for each.
show::Findings rejected_by_reason(const std::vector<plan::Rejected>& rejected);

// "3,000,000 GPU-hours and 200 days".
std::string limits_text(const plan::Budget& budget);

// How a run stands to the limits of an experiment. At risk: a limit lies within its 90 % range.
enum class Standing { kept, at_risk, broken };
std::string_view name(Standing standing);
Standing standing(const plan::Planned& run, const plan::Experiment& experiment);

// Whether the estimate itself keeps them, whatever its range.
bool keeps(const plan::Planned& run, const plan::Experiment& experiment);

// What the experiment's budget and deadline say to its runs; over: no estimate keeps them.
struct Verdict {
  std::string text;  // empty without a budget
  bool over = false;
};
Verdict budget_verdict(const RankedRuns& result);

// When the fastest run ends, and how that lies to the deadline; empty without a start.
std::string dates_text(const RankedRuns& result);

// "begins 2026-12-01 and ends 2027-03-14 (2027-03-02 to 2027-03-27)"; for a calendar with a start.
std::string when_text(const plan::Calendar& calendar, const plan::Estimate& estimate);

// Which runs, and which strategies at their best, cannot be told apart: a line each, or nothing.
std::string ties_text(const RankedRuns& result);

// The warnings of the runs, counted by what they are about.
show::Findings warnings_by_subject(const RankedRuns& result);

// What frameworks do in another way than our trainers would, by framework; empty if none is used.
std::string unequal_text(const RankedRuns& result);

// The stretches of a training as a table: by date where it has a start, else by day.
show::Table schedule_table(const plan::Estimate& estimate, const plan::Calendar& calendar);

// Memory and time of one run, item by item, with formulas; the items add up to the totals. With
// what was measured of it, where it was run.
show::Answer explain(const plan::Planned& run, const plan::Calendar& calendar,
                     const record::Measurement* measured = nullptr);

}  // namespace orch::tables
