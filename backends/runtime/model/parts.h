#pragma once

#include <cstdint>

#include "backends/runtime/kernels/heads.h"
#include "backends/runtime/kernels/ops.h"
#include "core/base/multiples.h"
#include "core/plan/model.h"

namespace orch::train {

// The parts of a model, in the kernels' terms. All models are pre-norm decoders; GPT-2, BLOOM and
// Llama are three examples:
//           norm    activation   positions   biases   qkv_bias   qk_norm   embedding_norm   tied
//   GPT-2   layer   gelu         learned     yes      yes        no        no               yes
//   BLOOM   layer   gelu         alibi       yes      yes        no        yes              yes
//   Llama   rms     swiglu       rotary      no       Qwen 2     Qwen 3    no               either
inline Activation activation(const plan::Model& model) {
  return model.swiglu ? Activation::swiglu : Activation::gelu;
}
inline RotaryOptions rotary(const plan::Model& model) {
  return {model.rope_theta, model.rope_factor, model.rope_low, model.rope_high,
          model.rope_original};
}

// The vocabulary padded for products: to a multiple of this on each of the ranks that share it.
// Padding rows are never a target and get no probability.
inline std::int64_t padded_vocab(const plan::Model& model, std::int64_t multiple = 128) {
  return round_up(model.vocab, multiple);
}

// Throws std::invalid_argument if the model has unsupported parts.
void require_parts(const plan::Model& model);

// Throws std::invalid_argument if tensor parallelism would cut a head, a group of heads or a pair
// of gate and up.
void require_equal_shares(const plan::Model& model, std::int64_t ranks);

}  // namespace orch::train
