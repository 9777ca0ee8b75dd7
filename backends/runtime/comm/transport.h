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

enum class Progress { running, done, failed };

// A collective as c10d has it under way.
struct Running {
  c10::intrusive_ptr<c10d::Work> work;
  std::function<void()> finish;  // to be called once the work is done; may be empty
  bool tells_end = false;        // the work's future comes true when it ends or fails
  std::function<Progress()> look =
      {};  // where only the device knows; holds no tensor. May be empty
};

// What lies beneath a group: Gloo or NCCL. Tensors are contiguous, and lie on its device.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual Running all_reduce(const at::Tensor& tensor, Reduce op) = 0;
  virtual Running broadcast(const at::Tensor& tensor, int root) = 0;
  virtual Running all_gather(const at::Tensor& out, const at::Tensor& in) = 0;
  virtual Running reduce_scatter(const at::Tensor& out, const at::Tensor& in) = 0;
  virtual Running send(const at::Tensor& tensor, int to, int tag) = 0;
  virtual Running recv(const at::Tensor& tensor, int from, int tag) = 0;
  virtual Running barrier() = 0;
  // Ends all that is under way, with an error. From any thread.
  virtual void abort() noexcept = 0;
};

struct TransportOptions {
  c10::intrusive_ptr<c10d::Store> store;  // the group's own part of it
  int rank = 0;                           // in the group
  int size = 1;
  std::chrono::milliseconds timeout{0};
  std::string address;  // of rank 0 of the world: says which of the host's networks to use
  int port = 0;
  at::Device device = at::kCPU;
  bool is_channel = false;  // for messages alone
};

// The one that is built in: NCCL with CUDA, else Gloo. Connects to the other members.
std::unique_ptr<Transport> make_transport(const TransportOptions& options);

// As if the other ranks were there: everything returns at once. What would have come from them is
// what this rank has, and messages are filled with values of a stream of activations.
std::unique_ptr<Transport> make_pretended(const TransportOptions& options);

}  // namespace orch::train
