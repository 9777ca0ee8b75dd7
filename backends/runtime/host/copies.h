#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

namespace orch::train {

// A moment in what a device has been given to do. On a CPU, and unset: it is over.
class Moment {
 public:
  Moment() = default;
  static Moment now(at::Device device);  // of its current stream

  void wait() const;         // the current stream goes on from there
  void synchronize() const;  // the caller does

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

// Copies between a device and host memory, beside what the device computes, in order. On a CPU: at
// once.
class Copies {
 public:
  explicit Copies(at::Device device);
  ~Copies();

  // to = from, when `after` is over. Both stay until it is done, and what is on the host is pinned.
  Moment copy(const at::Tensor& to, const at::Tensor& from, const Moment& after);
  // What the work gives to the device comes behind the copies so far; gives the moment it is done.
  Moment behind(const std::function<void()>& work);
  // Memory of a tensor that is freed while it is copied stays until it was.
  void hold(const at::Tensor& tensor) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orch::train
