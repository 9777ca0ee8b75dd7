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
  std::string verdict;  // in words
  double gpu_hours = 0, used_gpu_hours = 0, committed_gpu_hours = 0;  // 0: none
};

// A file that the report is made of, shown under provenance.
struct Attachment {
  std::string name;
  std::string text;
};

// What an experiment comes to.
struct PageAnswer {
  std::string name;  // of the experiment
  std::string best;  // what is best, what it costs, when it ends
  std::string sure;  // how sure that is
};

// Everything that a report shows.
struct Page {
  std::string title;
  std::string doc;                  // a sentence below the title
  std::string command;              // that made it
  std::string created;              // date and time
  std::vector<PageAnswer> answers;  // one of each experiment
  int refresh_seconds = 0;          // the page loads itself again; 0: never
  std::vector<record::Record> records;
  std::vector<plan::RejectedRun> rejected;
  PageBudget budget;
  std::vector<std::pair<std::string, std::string>> provenance;  // name and value, in order
  std::vector<Attachment> attachments;
};

// Runs in the table and the charts of a page, of which a browser makes a page of 10 MB. Of more
// there are those that ran, then the best of each strategy and size in turn.
inline constexpr std::size_t kMostRuns = 2000;

// One HTML file that needs nothing else. Any text may be in the records: all of it is escaped.
std::string html(const Page& page);

// Days per 100B tokens by number of GPUs (of the best runs, where all have as many), estimated and
// measured, as a picture of its own that follows the reader's light or dark mode.
std::string svg(const Page& page);

// Predicted against measured step times, one point per row, both axes logarithmic; rows whose ids
// are in apart are hollow. Calibrate says with which constants.
std::string svg(const std::vector<published::JudgedSample>& rows,
                const std::set<std::string>& apart, const published::Scores& scores,
                const std::string& calibrate);

}  // namespace orch::page
