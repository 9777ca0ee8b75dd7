#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace orch::train {

// A collective (or a send or recv) that a rank entered.
struct EnteredCollective {
  std::string kind;            // "all_reduce"
  std::string group;           // "data"
  std::uint64_t sequence = 0;  // within the group; sends and recvs are counted separately
  std::uint64_t bytes = 0;
  bool is_inside = false;         // entered and not left
  bool is_waited = false;         // the host waits for its end; otherwise it runs asynchronously
  int peer = -1;                  // for a send or recv: the peer's rank in the world
  std::vector<int> members = {};  // of the group: ranks in the world
};

enum class ProcessState { unknown, running, stopped, gone };
inline bool is_absent(ProcessState state) {
  return state == ProcessState::stopped || state == ProcessState::gone;
}

// The process of a rank.
struct RankProcessId {
  int pid = 0;
  std::string host;
  std::string pid_namespace;  // a pid is valid only inside it
  int world = 0;              // the number of ranks that it expects

  std::string pack() const;
  static RankProcessId unpack(const std::string& text);
  static RankProcessId own(int world);
  ProcessState look() const;  // unknown for processes on other hosts
};

// What is known about a rank that does not take part.
struct RankStatus {
  int rank = 0;
  bool answered = false;  // its process is alive and responds
  std::string failed;     // the reason, if it has reported a failure
  bool left = false;      // it ended normally
  RankProcessId where;
  ProcessState process = ProcessState::unknown;
  std::int64_t step = -1;                            // the last one known
  std::map<std::string, EnteredCollective> entered;  // by group: from its answer
  std::string last_seen;                             // from its flight recording
};

// Names the ranks because of which `here` cannot end, and what each was doing. A rank that waits
// for another is not to blame; the one at the end of the chain is.
std::string blame(const EnteredCollective& here, const std::vector<RankStatus>& others);

// "all_reduce #17 of 'data'".
std::string name_of(const EnteredCollective& entered);

// The last entries of a rank's flight recording; empty if it cannot be read.
std::string last_seen(const std::string& flight_folder, int rank);

}  // namespace orch::train
