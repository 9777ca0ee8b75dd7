#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

namespace orch::train {

// A point in the work queued on a device. On a CPU, and if unset, it is always reached.
class StreamEvent {
 public:
  StreamEvent() = default;
  static StreamEvent now(at::Device device);  // on its current stream

  void wait() const;         // makes the current stream wait for it
  void synchronize() const;  // makes the caller wait for it

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

// Copies between device and host memory, in order, in parallel to the device's computation. On a
// CPU: done at once.
class Copies {
 public:
  explicit Copies(at::Device device);
  ~Copies();

  // to = from, after `after` is reached. Both must live until it is done, and host memory must be
  // pinned.
  StreamEvent copy(const at::Tensor& to, const at::Tensor& from, const StreamEvent& after);
  // Queues work on the device behind the copies so far; returns the point at which it is done.
  StreamEvent behind(const std::function<void()>& work);
  // Keeps a tensor's memory until the copies so far are done, even if the tensor is freed.
  void hold(const at::Tensor& tensor) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orch::train
