#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>

namespace orch::train {

// What is the same for all elements of a step.
struct AdamwFactors {
  float gradient_scale;
  float keep;          // of the weight: 1 - learning rate * weight decay
  float beta1, rest1;  // rest: 1 - beta, rounded once
  float beta2, rest2;
  float rate;  // learning rate / (1 - beta1^step)
  float root;  // 1 / sqrt(1 - beta2^step)
  float epsilon;
};
AdamwFactors adamw_factors(double learning_rate, double weight_decay, double beta1, double beta2,
                           double epsilon, double gradient_scale, std::int64_t step);

struct AdamwBuffers {
  void* master;
  void* weight;  // a copy of the master in 16 bits; null: none
  const void* gradient;
  void* exp_avg;  // both moments in the master's type
  void* exp_avg_sq;
};

// Updates elements [begin, end) in one pass. Arithmetic is fp32, and an element's result depends on
// neither the range nor the processor.
using AdamwKernel = void (*)(const AdamwBuffers& buffers, std::int64_t begin, std::int64_t end,
                             const AdamwFactors& factors);

// weight: the master's type if there is no copy. Throws std::invalid_argument if there is no
// kernel.
AdamwKernel adamw_kernel(c10::ScalarType master, c10::ScalarType weight, c10::ScalarType gradient);

}  // namespace orch::train
