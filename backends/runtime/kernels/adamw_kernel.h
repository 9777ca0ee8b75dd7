#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>

namespace orch::train {

// Factors that are the same for all elements of a step.
struct AdamwFactors {
  float gradient_scale;
  float keep;          // for the weight: 1 - learning rate * weight decay
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
  void* weight;  // 16-bit copy of the master; null: none
  const void* gradient;
  void* exp_avg;  // both moments in the master's type
  void* exp_avg_sq;
};

// Updates elements [begin, end) in one pass. Arithmetic is in fp32, and an element's result depends
// neither on the range nor on the processor.
using AdamwKernel = void (*)(const AdamwBuffers& buffers, std::int64_t begin, std::int64_t end,
                             const AdamwFactors& factors);

// weight: the master's type if there is no copy. Throws std::invalid_argument for other types.
AdamwKernel adamw_kernel(c10::ScalarType master, c10::ScalarType weight, c10::ScalarType gradient);

}  // namespace orch::train
