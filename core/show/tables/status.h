#pragma once

#include <string>
#include <vector>

#include "core/record/live_run.h"
#include "core/show/tables/report.h"

namespace orch::tables {

// A run as a table shows it.
struct RunStatus : record::LiveRun {
  std::string job = {};  // the scheduler's id of it
  int submissions = 0;   // how often it was handed over
  bool due = false;      // will be submitted (again)
};

// An experiment as it stands.
struct Standings {
  std::string experiment;
  std::vector<RunStatus> runs;
  double budget_gpu_hours = 0;  // 0: none
  double used_gpu_hours = 0;
  double committed_gpu_hours = 0;  // what runs on their way will still take, as estimated
  double silent_seconds = 0;       // how long the scheduler has not answered; 0: it does
};

// One line per run: state, elapsed, step, loss, tokens/s, ETA, measured against estimated, reason;
// those that need a look come first. top 0 means all of them.
show::Table status_table(const Standings& standings, std::size_t top);

// The runs of all experiments in one table, for programs.
show::Table status_runs(std::string name, const std::vector<Standings>& all);

// Where experiments stand.
show::Answer status_answer(const std::vector<Standings>& all, std::size_t top);

// "12 finished, 3 running, 185 pending", and the GPU-hours.
std::string status_summary(const Standings& standings);

// The live picture: a bar for all, then as many runs as there are lines for. No line is longer than
// the screen, and one line of it stays free for the cursor.
std::string watch_screen(const Standings& standings, const show::Screen& screen, std::size_t lines);

// What changed between two looks, a line for each run.
std::vector<std::string> changes(const Standings& before, const Standings& now);

// What the strategies came to, at their best, in words; no text unless several trained the same
// sizes on the same number of GPUs.
struct MeasuredAnswer {
  std::string text;
  std::vector<std::string> strategies;
};
MeasuredAnswer measured_answer(const Standings& standings);
// What was measured beside what was estimated, fastest first; empty when nothing was measured.
show::Table measured_table(const Standings& standings);

}  // namespace orch::tables
