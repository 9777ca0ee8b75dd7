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

// A rank's process as its machine shows it.
struct RankProcess {
  std::string host;
  int pid = 0;
  char state = '?';   // R, S, D (waits for a device or a disk), T (stopped), Z
  std::string wchan;  // where in the kernel it sleeps; empty: not known
  double cpu_seconds = 0;
  double resident = 0;             // bytes
  std::string stack_from;          // gdb, eu-stack, kernel; empty: no stack
  std::vector<std::string> stack;  // lines, printable
  std::string note;                // why there is no (better) stack, and how to get one
};

struct RankReport {
  int rank = 0;
  bool recorded = false;    // there is a flight recording; else the next five say nothing
  int recorded_pid = 0;     // of who keeps it
  std::int64_t step = -1;   // the one at hand; -1: none yet
  double step_seconds = 0;  // since it began
  std::uint64_t begun = 0;  // collectives
  // The one that it is in, or was in last. Of several that it has begun and not ended, the oldest:
  // the others wait for it.
  std::optional<flight::Collective> collective;
  double collective_seconds = 0;  // how long it is in it, or out of it
  std::optional<RankProcess> process;
  std::string suspicion;  // why this rank may be the one that the others wait for; empty: none
};

struct Inspection {
  int attempt = 0;
  std::vector<RankReport> ranks;  // by rank
  bool probed = false;            // whether the processes were looked at
  std::vector<std::string> notes;
};

struct InspectRequest {
  fs::path run_folder;  // absolute; of a SLURM job, as its script has it
  int attempt = 1;
  int ranks = 0;          // that there should be; 0: not known
  std::string executor;   // slurm or local
  record::JobFact job;    // its processes are looked at while this is RUNNING
  std::size_t nodes = 0;  // of the job; 0: all that it has
  double now = 0;         // seconds since 1970
  double seconds = 60;    // for the look at the processes
};

// What each rank of an attempt does, or did last. An error only if there is no such attempt; a
// probe that fails is a note.
Result<Inspection> inspect_run(Shell& shell, const InspectRequest& request);

// --- the parts ---

// Where some wait for another stage of a pipeline, those that do not: the chain ends there. Else
// ranks that stay behind in the number of collectives begun; if none does, those in another
// collective than most. And those that are stopped, or that left no recording where others did.
void find_suspects(std::vector<RankReport>& ranks);

// Looks at the processes of an attempt, through a step that overlaps the job or directly.
// Fills RankReport::process; ranks that are only found here are added.
Status probe_processes(Shell& shell, const InspectRequest& request, Inspection& inspection);

}  // namespace orch::launch
