#pragma once

#include "backends/runtime/model/attention.h"

namespace orch::train {

// LibTorch's own fused attention, which keeps no scores: on CUDA in 16 bits, from 2.x on.
bool fused_attention_works(const AttentionOptions& options, at::ScalarType dtype,
                           at::Device device);

// As Attention's; bias is used for ALiBi only.
at::Tensor fused_attention(const at::Tensor& qkv, const AttentionOptions& options,
                           const AttentionPlace& place, const at::Tensor& bias,
                           AttentionSaved& saved);
at::Tensor fused_attention_backward(const at::Tensor& dout, const at::Tensor& qkv,
                                    const AttentionOptions& options, const AttentionPlace& place,
                                    const at::Tensor& bias, const AttentionSaved& saved);

}  // namespace orch::train
