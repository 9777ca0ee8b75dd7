#pragma once

#include <string>
#include <vector>

#include "core/record/live_run.h"
#include "core/show/tables/report.h"

namespace orch::tables {

// The state of a run as tables show it.
struct RunStatus : record::LiveRun {
  std::string job = {};  // the scheduler's job id
  int submissions = 0;   // number of submissions
  bool due = false;      // will be submitted (again)
};

// The state of an experiment.
struct Standings {
  std::string experiment;
  std::vector<RunStatus> runs;
  double budget_gpu_hours = 0;  // 0: none
  double used_gpu_hours = 0;
  double committed_gpu_hours = 0;  // estimated hours still needed by runs queued or running
  double silent_seconds = 0;       // since when the scheduler has not answered; 0: it does
};

// One line per run: state, elapsed, step, loss, tokens/s, ETA, measured against estimated, reason;
// those that need attention come first. top 0 means all of them.
show::Table status_table(const Standings& standings, std::size_t top);

// The runs of all experiments in one table, for programs.
show::Table status_runs(std::string name, const std::vector<Standings>& all);

// The state of experiments.
show::Answer status_answer(const std::vector<Standings>& all, std::size_t top);

// "12 finished, 3 running, 185 pending", and the GPU-hours.
std::string status_summary(const Standings& standings);

// The live screen: a bar for the experiment, then as many runs as there are lines. No line is
// longer than the screen, and one line stays free for the cursor.
std::string watch_screen(const Standings& standings, const show::Screen& screen, std::size_t lines);

// The changes between two polls, a line for each run.
std::vector<std::string> changes(const Standings& before, const Standings& now);

// A sentence comparing the best runs of strategies; empty unless several trained the same sizes on
// the same number of GPUs.
struct MeasuredAnswer {
  std::string text;
  std::vector<std::string> strategies;
};
MeasuredAnswer measured_answer(const Standings& standings);
// Measurements beside estimates, fastest first; empty if nothing was measured.
show::Table measured_table(const Standings& standings);

}  // namespace orch::tables
