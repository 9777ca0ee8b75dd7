#pragma once

#include <functional>

#include "backends/runtime/kernels/ops.h"

namespace orch::train {

// The state between two blocks: residual + dropout(pending). The next norm adds them in its own
// pass.
struct ResidualStream {
  at::Tensor residual;
  at::Tensor pending;  // undefined: nothing to add
  Dropout dropout;

  at::Tensor sum() const;
};

// Called for each parameter whose gradient of this micro-batch is complete.
using Ready = std::function<void(std::size_t parameter)>;

// A weight gradient that is still to be computed: dy' x.
struct WeightProduct {
  std::size_t parameter;
  at::Tensor dy, x;
};

// How backward handles weight gradients: it reports each, or, given a list, delays their products,
// to be reported by the code that computes them.
struct Gradients {
  Ready ready;
  std::vector<WeightProduct>* put_off = nullptr;

  void tell(std::size_t parameter) const {
    if (ready) ready(parameter);
  }
};

}  // namespace orch::train
