#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "backends/runtime/model/parts.h"

namespace orch::train {

struct AttentionOptions {
  HeadShape shape;              // of this rank
  std::int64_t first_head = 0;  // in the model,
  std::int64_t all_heads = 1;   // which has so many
  bool alibi = false;
  std::optional<RotaryOptions> rotary = {};
  bool sdpa = false;  // LibTorch's fused attention, where fused_attention_works()
  bool keep = true;   // scores and rotated heads; false: backward computes them again, if it can
};

// What backward needs.
struct AttentionSaved {
  at::Tensor qkv;            // as the product gave it; undefined where the heads are enough
  Heads heads;               // rotated; undefined: they are in qkv, or come from it
  at::Tensor probabilities;  // after dropout was not applied; undefined: computed again
  at::Tensor out;            // fused attention only, with what it returned beside it
  at::Tensor logsumexp;
  at::Tensor random_state[2];

  std::int64_t bytes() const;  // without `out`, which whoever goes on with it keeps as well
};

// Where the micro-batch is in the whole batch, for dropout.
struct AttentionPlace {
  std::uint64_t key = 0;
  std::int64_t first_sample = 0;
  double dropout = 0;  // of the probabilities
};

// Causal self-attention of each sample. qkv is [samples * seq, units * dim], see HeadShape. Queries
// that share a key and a value need no copies of these: one product has all rows of a group.
class Attention {
 public:
  Attention(const AttentionOptions& options, at::ScalarType dtype, at::Device device);

  // norms: the layer's own, if it has any; bias_gradient: of the product's, if it has one.
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
  at::Tensor bias_;     // [heads or 1, seq, seq]: 0 or -inf, and ALiBi's slopes
  RotaryTable rotary_;  // shared by all layers
};

// 0 of one that is undefined.
inline std::int64_t bytes_of(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<std::int64_t>(tensor.nbytes()) : 0;
}

// ALiBi's slope of each head (Press et al. 2022), as BLOOM has them.
at::Tensor alibi_slopes(std::int64_t heads);

}  // namespace orch::train
