#pragma once

#include <ATen/core/Tensor.h>

#include "backends/runtime/kernels/ops.h"

// Element-wise loops of ops.h for the host, always compiled with optimisation.
namespace orch::train::loops {

void fill_normal(const at::Tensor& to, double std, const DropoutMask& drawn);
void dropout(const at::Tensor& from, const at::Tensor& to, const Dropout& dropped);
// losses: one per row; logits are replaced by their gradient, unless scale is 0.
void cross_entropy(const at::Tensor& logits, const at::Tensor& targets, std::int64_t vocab,
                   double scale, const at::Tensor& losses);

}  // namespace orch::train::loops
