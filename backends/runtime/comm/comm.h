#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/flight.h"

namespace orch::train {

// A collective that failed or did not end in time. The message names the collective, its group and
// the ranks that did not take part, as far as known.
class CommError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Reduce { sum, max };

// An asynchronous collective. Call wait() once, before its tensors are read (on CUDA: before they
// are used on the current stream) or freed. The destructor waits and ignores the error, except
// during an exception, when the end may never come.
class PendingCollective {
 public:
  class State;
  PendingCollective();  // already complete
  explicit PendingCollective(std::unique_ptr<State> state);
  PendingCollective(PendingCollective&&) noexcept;
  PendingCollective& operator=(PendingCollective&&) noexcept;
  ~PendingCollective();

  void wait();           // throws CommError
  bool is_done() const;  // without waiting; always false for a send or recv over Gloo

 private:
  std::unique_ptr<State> state_;
  bool waited_ = false;
};

// The traffic of a group: bytes of the tensors passed to its collectives (of the larger one if
// there are two) or sent, and their number. Received bytes are counted by the sender.
struct Traffic {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
};

// A group of ranks that communicate, along one axis of the mesh (world, data, tensor, pipeline).
// All its members must call the same collectives in the same order. Tensors must be contiguous, of
// any dtype, and on the world's device. In a group of one, collectives are free (except for a copy
// if two tensors are given).
class CommGroup {
 public:
  class Impl;
  explicit CommGroup(std::shared_ptr<Impl> impl);
  ~CommGroup();

  const std::string& name() const;
  int rank() const;  // in the group
  int size() const;

  PendingCollective all_reduce(const at::Tensor& tensor, Reduce op = Reduce::sum);  // in place
  PendingCollective broadcast(const at::Tensor& tensor, int root);
  PendingCollective all_gather(const at::Tensor& out,
                               const at::Tensor& in);  // out: size() times in
  PendingCollective reduce_scatter(const at::Tensor& out,
                                   const at::Tensor& in);  // in: size() times out
  PendingCollective send(const at::Tensor& tensor, int to, int tag = 0);
  PendingCollective recv(const at::Tensor& tensor, int from, int tag = 0);
  void barrier();

  Traffic traffic() const;  // since the group was created

 private:
  std::shared_ptr<Impl> impl_;
};

struct WorldOptions {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  std::string address = "127.0.0.1";  // of rank 0
  int port = 0;
  bool cuda = false;             // true: NCCL; false: Gloo
  bool alone = false;            // a slice of the run: other ranks are simulated (pretend.cpp)
  double timeout_seconds = 600;  // for one collective, and for the initial rendezvous
  // Ends the process after a failure, if it cannot exit normally. Called from any thread; may be
  // empty.
  std::function<void(const std::string& why)> give_up;
  std::string flight_folder;  // empty: no recording
  // For tests: sleep a random time up to this many milliseconds before each collective.
  double jitter_ms = 0;  // from ORCH_TEST_JITTER_MS
  std::uint64_t jitter_seed = 0;
};

// From RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, which the job script sets.
WorldOptions world_options_from_environment();

// All ranks of a run. The constructor succeeds on all of them or on none.
class World {
 public:
  explicit World(const WorldOptions& options);
  ~World();

  int rank() const;
  int size() const;
  bool is_alone() const;  // a slice: other ranks are simulated
  at::Device device() const;
  CommGroup& world();
  // Members in the order of `ranks`. Every rank of the world must create the same groups in the
  // same order, including those it is not in (for which it gets nullptr).
  CommGroup* make_group(const std::string& name, const std::vector<int>& ranks);
  CommGroup* make_channel(const std::string& name, int from, int to);  // for sends and recvs only
  std::uint64_t bytes() const;  // moved by all groups and channels of this rank
  flight::Recorder& recorder();

  // Throws CommError if some rank has failed. An aborted NCCL collective leaves arbitrary numbers:
  // call this after they have been copied to the host and before they are used.
  void check() const;
  bool is_alarmed() const;  // the same without throwing, from any thread

  // Called before exiting after a failure: sends the reason to the other ranks.
  void announce_failure(const std::string& why) noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orch::train
