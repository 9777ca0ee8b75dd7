#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace orch::train {

// Gradients that come to the host slice by slice, where they make new weights, which go back to the
// device: one slice in each direction while the host works on a third.
class Staging {
 public:
  static constexpr std::int64_t kMost = 1 << 24;  // elements of a slice

  Staging();
  ~Staging();

  // Flat tensors on the device, kMost elements at most.
  struct Slice {
    at::Tensor gradient, weight;
  };
  // Both pointers are those of the slice's first element.
  using Work = std::function<void(std::size_t slice, const void* gradient, void* weight)>;
  // In order. Returns when the host is done; what follows on the current stream finds the new weights.
  void run(const std::vector<Slice>& slices, const Work& work);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orch::train
