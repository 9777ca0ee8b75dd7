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
// the ranks that did not take part as far as anybody can tell.
class CommError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Reduce { sum, max };

// A collective under way. wait() once, before its tensors are read (on CUDA: before they are used
// on the current stream) or freed. A Pending that is dropped waits, and swallows the error;
// not on the way out of an exception, when what it waits for may never come.
class Pending {
 public:
  class State;
  Pending();  // nothing to wait for
  explicit Pending(std::unique_ptr<State> state);
  Pending(Pending&&) noexcept;
  Pending& operator=(Pending&&) noexcept;
  ~Pending();

  void wait();           // throws CommError
  bool is_done() const;  // without waiting; of a send or recv over Gloo nobody can tell

 private:
  std::unique_ptr<State> state_;
  bool waited_ = false;
};

// What a group has moved: bytes of the tensors given to its collectives (of the larger one where
// there are two) or sent, and their number. What is received was counted by its sender.
struct Traffic {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
};

// Some ranks that talk to each other, along one axis of the mesh (world, data, tensor, pipeline).
// All its members call the same collectives in the same order. Tensors are contiguous, of any
// dtype, and on the world's device. In a group of one, collectives cost nothing (but a copy where
// two tensors are given).
class Group {
 public:
  class Impl;
  explicit Group(std::shared_ptr<Impl> impl);
  ~Group();

  const std::string& name() const;
  int rank() const;  // in the group
  int size() const;

  Pending all_reduce(const at::Tensor& tensor, Reduce op = Reduce::sum);  // in place
  Pending broadcast(const at::Tensor& tensor, int root);
  Pending all_gather(const at::Tensor& out, const at::Tensor& in);      // out: size() times in
  Pending reduce_scatter(const at::Tensor& out, const at::Tensor& in);  // in: size() times out
  Pending send(const at::Tensor& tensor, int to, int tag = 0);
  Pending recv(const at::Tensor& tensor, int from, int tag = 0);
  void barrier();

  Traffic traffic() const;  // since the group was made

 private:
  std::shared_ptr<Impl> impl_;
};

struct WorldOptions {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  std::string address = "127.0.0.1";  // of rank 0
  int port = 0;
  bool cuda = false;             // NCCL; else Gloo
  bool alone = false;            // a slice of the run: as if the others were there (pretend.cpp)
  double timeout_seconds = 600;  // of one collective, and of the first meeting
  // Ends the process, which failed and cannot leave by itself. From any thread; may be empty.
  std::function<void(const std::string& why)> give_up;
  std::string flight_folder;  // empty: no recording
  // For tests: sleep up to so many milliseconds before each collective, at random by this seed.
  double jitter_ms = 0;  // from ORCH_TEST_JITTER_MS
  std::uint64_t jitter_seed = 0;
};

// RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT as the job script sets them.
WorldOptions world_options_from_environment();

// All ranks of a run. Opens in all of them or in none.
class World {
 public:
  explicit World(const WorldOptions& options);
  ~World();

  int rank() const;
  int size() const;
  bool is_alone() const;  // a slice: the others are pretended
  at::Device device() const;
  Group& world();
  // Members in the order of `ranks`. Every rank of the world makes the same groups in the same
  // order, also those it is not in (for which it gets nullptr).
  Group* make_group(const std::string& name, const std::vector<int>& ranks);
  Group* make_channel(const std::string& name, int from, int to);  // for messages alone
  std::uint64_t bytes() const;  // that all groups and channels of this rank have moved
  flight::Recorder& recorder();

  // Throws CommError if some rank has failed. Over NCCL a collective that was abandoned leaves any
  // numbers behind: to be asked after they have come to the host and before they are believed.
  void check() const;
  bool is_alarmed() const;  // the same without throwing, from any thread

  // Before leaving after a failure: tells the others why, so that they need not guess.
  void announce_failure(const std::string& why) noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orch::train
