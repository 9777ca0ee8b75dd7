#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/runtime/comm/comm.h"
#include "backends/runtime/comm/transport.h"
#include "backends/runtime/comm/watch.h"

namespace orch::train {

// State that the groups of a world share, kept alive by running collectives.
struct SharedGroupState {
  WorldOptions options;
  std::unique_ptr<flight::Recorder> recorder;
  std::unique_ptr<Watch> watch;  // null in a world of one
  std::atomic<std::uint64_t> started = 0;
};

class CommGroup::Impl : public std::enable_shared_from_this<CommGroup::Impl> {
 public:
  std::shared_ptr<SharedGroupState> common;
  std::string name;
  std::vector<int> members;              // ranks in the world
  int rank = 0;                          // in the group
  std::unique_ptr<Transport> transport;  // null in a group of one

  std::atomic<std::uint64_t> calls = 0, bytes = 0;
  std::atomic<std::uint64_t> collectives = 0, messages = 0;

  int size() const { return static_cast<int>(members.size()); }
  // kind: for the recording; peer: of a send or recv, its rank in the group.
  PendingCollective start(const char* kind, const at::Tensor& largest, int peer,
                          const std::function<RunningCollective()>& launch);
  // The exception for a collective that failed.
  CommError failure(const EnteredCollective& what, const std::string& reason) const;
};

}  // namespace orch::train
