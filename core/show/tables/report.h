#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/experiment.h"
#include "core/plan/planned.h"
#include "core/record/record.h"

namespace orch::tables {

// A table of texts: the first row is the head.
using Rows = std::vector<std::vector<std::string>>;

// How the output is looked at: 0 columns means "as wide as it gets".
struct Screen {
  std::size_t width = 0;
  bool color = false;
  bool markdown = false;  // tables and headings are written as Markdown
};

// What runs are ordered by.
enum class Measure { time, gpu_hours, memory };

// A run that an experiment does not list, found near those that it does.
struct Nearby {
  plan::Planned planned;
  const plan::Planned* listed = nullptr;  // the nearest that is: of its strategy, about its question
  std::vector<std::string> changes;       // from that one: "micro_batch = 4"
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
  // Where nothing fits, what would; else what is a tenth faster than the best of its strategy.
  std::vector<Nearby> nearby = {};
};

// The runs of each question; all together, where these are not ranked apart.
std::vector<std::vector<const plan::Planned*>> by_question(const RankedRuns& result);
// "size", "sequence length", "machine": what tells the questions of a result apart.
std::vector<std::string> what_differs(const RankedRuns& result);
// What the runs of a question have in common and others have not: "llama-3-8b, 4,096 tokens, on dgx-h100/h100-80g".
std::string question_text(const std::vector<const plan::Planned*>& runs, const RankedRuns& result);

// The side-by-side table; top 0 means all of it, else the first `top` runs of each question. Markdown has all
// runs and all columns.
std::string table(const RankedRuns& result, const Screen& screen, std::size_t top);
std::string csv(const RankedRuns& result);
struct Standings;  // status.h
// In pieces, as it is made: 200,000 runs have 600 MB of JSON. With the state and the measurements of
// the runs, where they were run.
using Print = std::function<void(const std::string&)>;
void print_json(const RankedRuns& result, const Standings* standings, const Print& print);

// What an experiment comes to, in two or three sentences.
struct Answer {
  std::string best;    // what is best, by how much, what it costs and when it ends
  std::string sure;    // how sure that is, and what would change it; empty where nothing fits
  std::string nearby;  // what is faster and not listed; empty where nothing is
};
// Of no runs there is none.
Answer answer(const RankedRuns& result);

// "Answer: …", "How sure: …" and "Not listed: …", a line each.
std::string answer_text(const RankedRuns& result);

// "megatron (TP 8, PP 12, micro-batch 1) on 96 GPUs: 300B tokens in 331 days (280–390), 762,624 GPU-hours"; with the
// settings that tell it from others of its strategy.
std::string run_text(const plan::Planned& run, const std::vector<const plan::Planned*>& others,
                     const plan::Experiment& experiment);

// The rejected runs counted by reason, with one example and the fix for each.
std::string rejected_by_reason(const std::vector<plan::Rejected>& rejected, const Screen& screen);

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
std::string warnings_by_subject(const RankedRuns& result);

// What frameworks do in another way than our trainers would, by framework; empty if none is used.
std::string unequal_text(const RankedRuns& result);

// The stretches of a training as a table: by date where it has a start, else by day.
Rows schedule_rows(const plan::Estimate& estimate, const plan::Calendar& calendar);

// Memory and time of one run, item by item, with formulas; the items add up to the totals. With
// what was measured of it, where it was run.
std::string explain(const plan::Planned& run, const plan::Calendar& calendar, const Screen& screen,
                    const record::Measurement* measured = nullptr);
std::string explain_json(const plan::Planned& run, const plan::Calendar& calendar,
                         const record::Measurement* measured = nullptr);

// Columns of numbers are set to the right; a last column of text goes below its row where the screen
// is too narrow for it.
std::string grid(const Rows& rows, const Screen& screen);

// Without the column of that title, where every cell of it says the same plain word.
Rows without_plain(Rows rows, const std::string& title, const std::string& word);

// A line of its own above what follows: bold on a terminal.
std::string heading(std::string_view title, const Screen& screen);

// A grid below its heading, and a blank line above both.
std::string titled(std::string_view title, const Rows& rows, const Screen& screen);

// A text as Markdown shows it: neither a column's end, nor a link, nor HTML.
std::string markdown_text(std::string_view text);

// The text in at most so many columns, its end replaced by "…" if it is longer.
std::string cut(const std::string& text, std::size_t width);

// Breaks lines at blanks where they are longer than the screen; a new line is indented like the one
// it continues.
std::string wrap(std::string_view text, const Screen& screen);

// ANSI colours where the screen wants them.
std::string paint(std::string_view text, std::string_view code, const Screen& screen);

}  // namespace orch::tables
