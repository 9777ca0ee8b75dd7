#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/flight.h"
#include "core/base/result.h"
#include "core/base/shell.h"
#include "core/record/facts.h"

namespace orch::launch {

// A rank's process as seen on its machine.
struct RankProcess {
  std::string host;
  int pid = 0;
  char state = '?';   // R, S, D (waits for a device or a disk), T (stopped), Z
  std::string wchan;  // the kernel function in which it sleeps; empty: unknown
  double cpu_seconds = 0;
  double resident = 0;             // bytes
  std::string stack_from;          // gdb, eu-stack, kernel; empty: there is no stack
  std::vector<std::string> stack;  // lines, printable
  std::string note;                // why there is no (better) stack, and how to get one
};

struct RankReport {
  int rank = 0;
  bool recorded = false;    // false: there is no flight recording, and the next five are unset
  int recorded_pid = 0;     // process that wrote it
  std::int64_t step = -1;   // the current one; -1: none yet
  double step_seconds = 0;  // since the step began
  std::uint64_t begun = 0;  // number of collectives
  // The present or last collective. If several have begun and not ended, the oldest: the others
  // wait for it.
  std::optional<flight::Collective> collective;
  double collective_seconds = 0;  // since it began, or since it ended
  std::optional<RankProcess> process;
  std::string suspicion;  // why the other ranks may be waiting for this one; empty: no reason
};

struct Inspection {
  int attempt = 0;
  std::vector<RankReport> ranks;  // sorted by rank
  bool probed = false;            // true if processes were inspected
  std::vector<std::string> notes;
};

struct InspectRequest {
  fs::path run_folder;  // absolute; for a SLURM job, as in its script
  int attempt = 1;
  int ranks = 0;          // expected number; 0: unknown
  std::string executor;   // slurm or local
  record::JobFact job;    // processes are inspected while its state is RUNNING
  std::size_t nodes = 0;  // of the job; 0: all of its nodes
  double now = 0;         // seconds since 1970
  double seconds = 60;    // time limit for inspecting processes
};

// What each rank of an attempt does, or did last. An error only if the attempt does not exist; a
// failed probe becomes a note.
Result<Inspection> inspect_run(Shell& shell, const InspectRequest& request);

// --- the parts ---

// Marks the suspicious ranks. If some wait for another pipeline stage: those that do not, where the
// chain ends. Else ranks that are behind in the number of collectives begun; if there are none,
// those in another collective than the majority. And ranks that are stopped, or that have no
// recording while others do.
void find_suspects(std::vector<RankReport>& ranks);

// Inspects the processes of an attempt, through a step that overlaps the job or directly. Fills
// RankReport::process; ranks that are found only here are added.
Status probe_processes(Shell& shell, const InspectRequest& request, Inspection& inspection);

}  // namespace orch::launch
