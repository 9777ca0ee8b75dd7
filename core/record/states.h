#pragma once

#include <optional>
#include <string_view>

namespace orch::record {

enum class RunState {
  planned,  // not submitted
  pending,  // submitted, waiting
  running,
  stopped,  // saved, but not at its end
  finished,
  failed,
  cancelled,  // on request
};

// Why a run is not finished.
enum class Failure {
  none,
  gpu_memory,
  host_memory,  // killed by a cgroup or the kernel
  timeout,
  node,  // a node failed, or did not pass its check
  preempted,
  hang,  // no progress for the time of many steps
  nccl,
  bad_exit,
  early_exit,  // exited with 0 before it was done
  refused,     // the scheduler did not accept it
  data,        // damaged, or does not match the run
  nan,         // the loss is NaN
  disk,        // full, or failing
  lost,        // no trace: neither SLURM nor the folder shows how it ended
};

// True if it has ended, and will not continue by itself.
inline bool is_final(RunState state) {
  return state == RunState::finished || state == RunState::failed || state == RunState::cancelled;
}

std::string_view name(RunState state);
std::string_view name(Failure failure);
std::optional<RunState> parse_state(std::string_view text);
std::optional<Failure> parse_failure(std::string_view text);

// True if the same run may succeed when it is submitted again unchanged.
bool is_transient(Failure failure);

}  // namespace orch::record
