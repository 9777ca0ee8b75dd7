#pragma once

#include <ATen/core/Tensor.h>

#include "backends/runtime/kernels/ops.h"

// What ops.h does element by element on the host, optimised whatever the rest is.
namespace orch::train::loops {

void fill_normal(const at::Tensor& to, double std, const Drawn& drawn);
void dropout(const at::Tensor& from, const at::Tensor& to, const Dropout& dropped);
// losses: of each row; in place of the logits their gradient, unless scale is 0.
void cross_entropy(const at::Tensor& logits, const at::Tensor& targets, std::int64_t vocab,
                   double scale, const at::Tensor& losses);

}  // namespace orch::train::loops
