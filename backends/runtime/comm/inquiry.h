#pragma once

#include <map>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "backends/runtime/comm/blame.h"
#include "backends/runtime/comm/comm.h"

namespace orch::train {

// The communication of ranks through the store after a failure. The first rank to notice raises the
// alarm and asks; the others answer; all get the same verdict. Not thread-safe; every call may
// throw if the store is gone, and block if its host hangs.
class FailureInquiry {
 public:
  using EnteredByGroup = std::map<std::string, EnteredCollective>;

  FailureInquiry(const WorldOptions& options, c10::intrusive_ptr<c10d::Store> store,
                 const RankProcessId& rank0);

  static std::string who_key(int rank);  // the key of each rank's RankProcessId

  bool is_alarm();  // true if a rank has noticed a failure
  void answer(const EnteredByGroup& entered);
  // Raises the alarm, or joins an existing one, and returns which rank is to blame: takes about two
  // seconds.
  std::string verdict(const EnteredCollective& here, const EnteredByGroup& entered);
  // Stores another rank's verdict if there is one: the store may be gone when it is needed.
  void take_verdict();
  void wait_until_others_heard(std::chrono::steady_clock::time_point deadline);
  void announce(const std::string& why, const EnteredByGroup& entered);

  void leave();
  // Returns at the deadline, or when all other ranks have left or are known to be gone or stopped.
  void wait_until_others_left(std::chrono::steady_clock::time_point deadline);

 private:
  RankProcessId whereabouts(int rank);
  bool sight(RankStatus& other, bool is_last_time);
  std::vector<RankStatus> sight_others();
  std::string verdict_of_another();
  void keep(const std::string& verdict);

  const WorldOptions options_;
  const c10::intrusive_ptr<c10d::Store> store_;
  const RankProcessId rank0_;
  std::string announced_, verdict_;
};

}  // namespace orch::train
