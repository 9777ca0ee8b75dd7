#pragma once

#include "backends/runtime/model/attention.h"

namespace orch::train {

// LibTorch's own fused attention, which keeps no scores: on CUDA in 16 bits, from 2.x on.
bool fused_attention_works(const AttentionOptions& options, at::ScalarType dtype,
                           at::Device device);

// Of heads, [samples * seq, heads * dim], and the heads' gradients. Queries may share keys and
// values but with ALiBi, for which alone `bias` is used.
at::Tensor fused_attention(const Heads& heads, const AttentionOptions& options,
                           const AttentionPlace& place, const at::Tensor& bias,
                           AttentionSaved& saved);
Heads fused_attention_backward(const at::Tensor& dout, const Heads& heads,
                               const AttentionOptions& options, const AttentionPlace& place,
                               const at::Tensor& bias, const AttentionSaved& saved);

}  // namespace orch::train
