#pragma once

#include <functional>

#include "backends/runtime/kernels/ops.h"

namespace orch::train {

// What is between two blocks: residual + dropout(pending). The next norm adds them in its own pass.
struct Stream {
  at::Tensor residual;
  at::Tensor pending;  // undefined: nothing to add
  Dropout dropout;

  at::Tensor sum() const;
};

// Told of each parameter whose gradient of this micro-batch is complete.
using Ready = std::function<void(std::size_t parameter)>;

// A gradient of a weight that is still to be computed: dy' x.
struct WeightProduct {
  std::size_t parameter;
  at::Tensor dy, x;
};

// What backward does with gradients of weights: it tells of each, or, given a list, puts off their
// products, to be told of by whoever computes them.
struct Gradients {
  Ready ready;
  std::vector<WeightProduct>* put_off = nullptr;

  void tell(std::size_t parameter) const {
    if (ready) ready(parameter);
  }
};

}  // namespace orch::train
