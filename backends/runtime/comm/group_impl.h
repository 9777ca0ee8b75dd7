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

// What the groups of a world share, and collectives under way keep alive.
struct Common {
  WorldOptions options;
  std::unique_ptr<flight::Recorder> recorder;
  std::unique_ptr<Watch> watch;  // none in a world of one
  std::atomic<std::uint64_t> started = 0;
};

class Group::Impl : public std::enable_shared_from_this<Group::Impl> {
 public:
  std::shared_ptr<Common> common;
  std::string name;
  std::vector<int> members;              // their ranks in the world
  int rank = 0;                          // in the group
  std::unique_ptr<Transport> transport;  // none in a group of one

  std::atomic<std::uint64_t> calls = 0, bytes = 0;
  std::atomic<std::uint64_t> collectives = 0, messages = 0;

  int size() const { return static_cast<int>(members.size()); }
  // kind is recorded as it is; peer: of a send or recv, in the group.
  Pending start(const char* kind, const at::Tensor& largest, int peer,
                const std::function<Running()>& launch);
  // What is to be thrown when this one failed.
  CommError failure(const Entered& what, const std::string& reason) const;
};

}  // namespace orch::train
