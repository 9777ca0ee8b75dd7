#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "backends/runtime/model/parts.h"

namespace orch::train {

struct AttentionOptions {
  HeadShape shape;              // of this rank
  std::int64_t first_head = 0;  // in the whole model,
  std::int64_t all_heads = 1;   // which has this many
  bool alibi = false;
  std::optional<RotaryOptions> rotary = {};
  bool sdpa = false;  // LibTorch's fused attention, if fused_attention_works()
  bool keep = true;   // scores and rotated heads; false: backward recomputes them if possible
};

// What backward needs.
struct AttentionSaved {
  at::Tensor qkv;            // the product's output; undefined if the heads are enough
  Heads heads;               // rotated; undefined: views of qkv, or recomputed from it
  at::Tensor probabilities;  // before dropout; undefined: recomputed
  at::Tensor out;            // fused attention only, with its further outputs
  at::Tensor logsumexp;
  at::Tensor random_state[2];

  std::int64_t bytes() const;  // without `out`, which the next product stores as well
};

// The position of the micro-batch in the whole batch, for dropout.
struct AttentionPlace {
  std::uint64_t key = 0;
  std::int64_t first_sample = 0;
  double dropout = 0;  // of the probabilities
};

// Causal self-attention of each sample. qkv is [samples * seq, units * dim], see HeadShape. Queries
// that share a key and a value need no copies of these: one product covers all rows of a group.
class Attention {
 public:
  Attention(const AttentionOptions& options, at::ScalarType dtype, at::Device device);

  // norms: the layer's own, if it has any; bias_gradient: that of the product, if it has one.
  at::Tensor forward(const at::Tensor& qkv, const HeadNorms& norms, const AttentionPlace& place,
                     AttentionSaved& saved) const;  // [samples * seq, heads * dim]
  at::Tensor backward(const at::Tensor& dout, const HeadNorms& norms,
                      const HeadNorms& norm_gradients, const at::Tensor& bias_gradient,
                      const AttentionPlace& place, const AttentionSaved& saved) const;  // dqkv

  bool uses_sdpa() const { return sdpa_; }

 private:
  Heads keep_heads(const at::Tensor& qkv, const HeadNorms& norms, AttentionSaved& saved) const;
  Heads heads_of(const at::Tensor& qkv, const HeadNorms& norms) const;
  bool rotates(const HeadNorms& norms) const;
  at::Tensor probabilities(const at::Tensor& q, const at::Tensor& k) const;
  Heads backward_by_products(const at::Tensor& dout, const Heads& heads,
                             const AttentionPlace& place, const at::Tensor& kept) const;

  AttentionOptions options_;
  bool sdpa_ = false;
  double scale_ = 1;
  at::Tensor bias_;     // [heads or 1, seq, seq]: 0 or -inf, plus ALiBi's slopes
  RotaryTable rotary_;  // shared by all layers
};

// 0 for an undefined tensor.
inline std::int64_t bytes_of(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<std::int64_t>(tensor.nbytes()) : 0;
}

// ALiBi's slope of each head (Press et al. 2022), as in BLOOM.
at::Tensor alibi_slopes(std::int64_t heads);

}  // namespace orch::train
