#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace orch::train {

// A collective (or a send or receipt) that a rank entered.
struct Entered {
  std::string kind;            // "all_reduce"
  std::string group;           // "data"
  std::uint64_t sequence = 0;  // in the group; sends and receipts are counted apart
  std::uint64_t bytes = 0;
  bool is_inside = false;         // not left yet
  bool is_waited = false;         // somebody waits for its end: else it is only under way
  int peer = -1;                  // of a send or recv: its rank in the world
  std::vector<int> members = {};  // of the group: their ranks in the world
};

enum class ProcessState { unknown, running, stopped, gone };
inline bool is_absent(ProcessState state) {
  return state == ProcessState::stopped || state == ProcessState::gone;
}

// Where a rank lives.
struct Whereabouts {
  int pid = 0;
  std::string host;
  std::string pid_namespace;  // a pid means nothing outside
  int world = 0;              // how many ranks it believes in

  std::string pack() const;
  static Whereabouts unpack(const std::string& text);
  static Whereabouts own(int world);
  ProcessState look() const;  // unknown on other hosts
};

// What could be learnt about a rank that does not take part.
struct Sighting {
  int rank = 0;
  bool answered = false;  // its process lives and speaks
  std::string failed;     // why, if it said so before
  bool left = false;      // it ended in good order
  Whereabouts where;
  ProcessState process = ProcessState::unknown;
  std::int64_t step = -1;                  // the last one known
  std::map<std::string, Entered> entered;  // by group: from its answer
  std::string last_seen;                   // from its flight recording
};

// Names the ranks for whose sake `here` cannot end, and what each was doing. Who waits for another
// is not to blame, but the one at the end of that chain.
std::string blame(const Entered& here, const std::vector<Sighting>& others);

// "all_reduce #17 of 'data'".
std::string name_of(const Entered& entered);

// What a rank's flight recording tells about its end; empty if there is none to be read.
std::string last_seen(const std::string& flight_folder, int rank);

}  // namespace orch::train
