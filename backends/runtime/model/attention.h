#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace orch::train {

struct AttentionOptions {
  std::int64_t heads = 1;       // of this rank
  std::int64_t first_head = 0;  // in the model,
  std::int64_t all_heads = 1;   // which has so many
  std::int64_t head_dim = 1;
  std::int64_t seq = 1;
  bool alibi = false;       // BLOOM's linear biases
  bool sdpa = false;        // LibTorch's fused attention, where is_sdpa_there()
  bool keep_scores = true;  // false: backward computes them again (selective recomputation)
};

// What backward needs besides qkv.
struct AttentionSaved {
  at::Tensor probabilities;  // after dropout was not applied; undefined: computed again
  at::Tensor out;            // fused attention only, with what it returned beside it
  at::Tensor logsumexp;
  at::Tensor random_state[2];
};

// Where the micro-batch is in the whole batch, for dropout.
struct AttentionPlace {
  std::uint64_t key = 0;
  std::int64_t first_sample = 0;
  double dropout = 0;  // of the probabilities
};

// Causal self-attention of each sample. qkv is [samples * seq, heads * 3 * head_dim], each head's
// q, k and v beside each other, so that a tensor-parallel rank's heads are a slice of it.
class Attention {
 public:
  Attention(const AttentionOptions& options, at::ScalarType dtype, at::Device device);

  at::Tensor forward(const at::Tensor& qkv, const AttentionPlace& place,
                     AttentionSaved& saved) const;  // [samples * seq, heads * head_dim]
  at::Tensor backward(const at::Tensor& dout, const at::Tensor& qkv, const AttentionPlace& place,
                      const AttentionSaved& saved) const;  // dqkv

  bool uses_sdpa() const { return sdpa_; }

 private:
  at::Tensor probabilities(const at::Tensor& q, const at::Tensor& k) const;

  AttentionOptions options_;
  bool sdpa_ = false;
  double scale_ = 1;
  at::Tensor bias_;  // [heads or 1, seq, seq]: 0 or -inf, and ALiBi's slopes
};

// ALiBi's slope of each head (Press et al. 2022), as BLOOM has them.
at::Tensor alibi_slopes(std::int64_t heads);

}  // namespace orch::train
