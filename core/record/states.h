#pragma once

#include <optional>
#include <string_view>

namespace orch::record {

enum class State {
  planned,  // nobody has submitted it
  pending,  // submitted, waiting
  running,
  stopped,  // saved, with more to do
  finished,
  failed,
  cancelled,  // because someone said so
};

// Why a run is not finished.
enum class Failure {
  none,
  gpu_memory,
  host_memory,  // killed by a cgroup or the kernel
  timeout,
  node,  // a node failed, or did not pass its check
  preempted,
  hang,  // no progress for many steps' time
  nccl,
  bad_exit,
  early_exit,  // left with code 0 before it was done
  refused,     // the scheduler did not take it
  data,        // damaged, or not what the run asks for
  nan,         // the loss is not a number any more
  disk,        // full, or it fails
  lost,        // gone without a trace: neither SLURM nor the folder knows how it ended
};

// Whether it has ended, and will not go on by itself.
inline bool is_final(State state) {
  return state == State::finished || state == State::failed || state == State::cancelled;
}

std::string_view name(State state);
std::string_view name(Failure failure);
std::optional<State> parse_state(std::string_view text);
std::optional<Failure> parse_failure(std::string_view text);

// Whether the same run may succeed when it is submitted again as it is.
bool is_transient(Failure failure);

}  // namespace orch::record
