#pragma once

#include "backends/runtime/model/attention.h"

namespace orch::train {

// True if LibTorch's fused attention, which stores no scores, can be used: on CUDA in 16 bits, from
// 2.x on.
bool fused_attention_works(const AttentionOptions& options, at::ScalarType dtype,
                           at::Device device);

// Computes attention, [samples * seq, heads * dim], and the gradients of heads. Queries may share
// keys and values except with ALiBi, which alone uses `bias`.
at::Tensor fused_attention(const Heads& heads, const AttentionOptions& options,
                           const AttentionPlace& place, const at::Tensor& bias,
                           AttentionSaved& saved);
Heads fused_attention_backward(const at::Tensor& dout, const Heads& heads,
                               const AttentionOptions& options, const AttentionPlace& place,
                               const at::Tensor& bias, const AttentionSaved& saved);

}  // namespace orch::train
