#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

#include "backends/runtime/model/parameters.h"

namespace orch::train {

// Gradients that come to the host slice by slice, where they make new weights, which go back to the
// device: one slice in each direction while the host works on a third.
class Staging {
 public:
  static constexpr std::int64_t kMost = 1 << 24;  // elements of a slice

  Staging();
  ~Staging();

  // Both pointers are those of the slice's first element.
  using Work = std::function<void(const void* gradient, void* weight, const Range& slice)>;
  // Slices of the flat tensors, in order. Returns when the host is done; what follows on the current
  // stream finds the new weights.
  void run(const at::Tensor& gradient, const at::Tensor& weight, const std::vector<Range>& slices,
           const Work& work);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orch::train
