#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/plan/run.h"
#include "core/record/published/score.h"
#include "core/record/record.h"

namespace orch::page {

struct PageBudget {
  std::string limits;   // "3,000,000 GPU-hours and 200 days"; empty: none
  std::string verdict;  // whether the runs fit into the limits
  double gpu_hours = 0, used_gpu_hours = 0, committed_gpu_hours = 0;  // 0: none
};

// An input file of the report, shown under provenance.
struct Attachment {
  std::string name;
  std::string text;
};

// The result of an experiment.
struct PageAnswer {
  std::string name;  // name of the experiment
  std::string best;  // the best run, its cost, and when it ends
  std::string sure;  // the confidence in this result
};

// The content of a report.
struct Page {
  std::string title;
  std::string doc;                  // sentence below the title
  std::string command;              // the command that made the report
  std::string created;              // date and time
  std::vector<PageAnswer> answers;  // one per experiment
  int refresh_seconds = 0;          // how often the page reloads itself; 0: never
  std::vector<record::Record> records;
  std::vector<plan::RejectedRun> rejected;
  PageBudget budget;
  std::vector<std::pair<std::string, std::string>> provenance;  // name and value, in order
  std::vector<Attachment> attachments;
};

// Maximum number of runs in the table and charts of a page, which then has about 10 MB. If there
// are more, runs with results have priority over planned ones, and within both the best runs of
// each strategy and size.
inline constexpr std::size_t kMostRuns = 2000;

// A self-contained HTML file. Records may contain arbitrary text, so all of it is escaped.
std::string html(const Page& page);

// The chart of days per 100B tokens by number of GPUs, estimated and measured, as an SVG file that
// follows the reader's light or dark mode. If all runs have the same number of GPUs, it shows the
// best runs.
std::string svg(const Page& page);

// The chart of predicted against measured step times, one point per row, both axes logarithmic.
// Rows whose ids are in `apart` are hollow; `calibrate` states which constants were used.
std::string svg(const std::vector<published::JudgedSample>& rows,
                const std::set<std::string>& apart, const published::Scores& scores,
                const std::string& calibrate);

}  // namespace orch::page
