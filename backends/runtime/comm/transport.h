#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "backends/runtime/comm/comm.h"

namespace orch::train {

enum class CollectiveProgress { running, done, failed };

// A running collective of c10d.
struct RunningCollective {
  c10::intrusive_ptr<c10d::Work> work;
  std::function<void()> finish;  // called once the work is done; may be empty
  bool tells_end = false;        // true: the work's future completes when it ends or fails
  std::function<CollectiveProgress()> look =
      {};  // asks the device for its progress; holds no tensor. May be empty
};

// The communication library of a group: Gloo or NCCL. Tensors must be contiguous and on its device.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual RunningCollective all_reduce(const at::Tensor& tensor, Reduce op) = 0;
  virtual RunningCollective broadcast(const at::Tensor& tensor, int root) = 0;
  virtual RunningCollective all_gather(const at::Tensor& out, const at::Tensor& in) = 0;
  virtual RunningCollective reduce_scatter(const at::Tensor& out, const at::Tensor& in) = 0;
  virtual RunningCollective send(const at::Tensor& tensor, int to, int tag) = 0;
  virtual RunningCollective recv(const at::Tensor& tensor, int from, int tag) = 0;
  virtual RunningCollective barrier() = 0;
  // Ends all running operations with an error. Thread-safe.
  virtual void abort() noexcept = 0;
};

struct TransportOptions {
  c10::intrusive_ptr<c10d::Store> store;  // with a prefix for the group
  int rank = 0;                           // in the group
  int size = 1;
  std::chrono::milliseconds timeout{0};
  std::string address;  // of rank 0 of the world: selects the host's network
  int port = 0;
  at::Device device = at::kCPU;
  bool is_channel = false;  // for sends and recvs only
};

// The transport that is built in: NCCL with CUDA, else Gloo. Connects to the other members.
std::unique_ptr<Transport> make_transport(const TransportOptions& options);

// A simulation of the other ranks: everything returns at once. Their data is replaced by this
// rank's own, and messages contain plausible activations.
std::unique_ptr<Transport> make_pretended(const TransportOptions& options);

}  // namespace orch::train
