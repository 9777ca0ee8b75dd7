#pragma once

#include <cstdint>

#include "backends/runtime/kernels/heads.h"
#include "backends/runtime/kernels/ops.h"
#include "core/base/multiples.h"
#include "core/plan/model.h"

namespace orch::train {

// Which parts a model is made of, in the kernels' words. All models are pre-norm decoders; GPT-2,
// BLOOM and Llama are three of them:
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

// The vocabulary as products want it: a multiple of this on each of the ranks that share it. Rows
// beyond it are never a target and get no probability.
inline std::int64_t padded_vocab(const plan::Model& model, std::int64_t multiple = 128) {
  return round_up(model.vocab, multiple);
}

// Throws std::invalid_argument where the model has parts that are not here.
void require_parts(const plan::Model& model);

// Throws std::invalid_argument where ranks that share each layer would have to cut a head, a group
// of them or a pair of gate and up in two.
void require_equal_shares(const plan::Model& model, std::int64_t ranks);

}  // namespace orch::train
