#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace orch::train {

// The heads of a rank. The QKV product's output is ordered by group: the queries that share a key
// and a value, then that key, then that value; [tokens, kv_heads, heads / kv_heads + 2, dim]. So
// the heads of a tensor-parallel rank are a slice of the product, cut between groups. With as many
// keys as queries, each head's q, k and v are adjacent.
struct HeadShape {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t dim = 1;
  std::int64_t seq = 1;

  std::int64_t group() const { return heads / kv_heads; }
  std::int64_t units() const { return heads + 2 * kv_heads; }  // per token, with keys and values
};

// The input of attention: [samples, heads (k and v: kv_heads), seq, dim], with any strides except
// the last.
struct Heads {
  at::Tensor q, k, v;
};

// Rotary positions (Su et al. 2021) as in Llama and Hugging Face: elements i and i + dim / 2 of a
// head's q and k are rotated by an angle proportional to the position. fp32, [seq, dim / 2].
struct RotaryTable {
  at::Tensor cos, sin;  // undefined: no rotation
};

struct RotaryOptions {
  double theta = 10000;
  // Llama 3.1's extension to a longer context: angles that turn fewer than low_frequency_factor
  // times over the first context grow `factor` times more slowly, those that turn more than
  // high_frequency_factor times are unchanged, with a smooth transition between. 1: no scaling.
  double factor = 1;
  double low_frequency_factor = 1;
  double high_frequency_factor = 4;
  std::int64_t first_context = 8192;  // original_max_position_embeddings
};

RotaryTable make_rotary_table(const RotaryOptions& options, std::int64_t seq, std::int64_t dim,
                              at::Device device);

// RMS norms over each head's q and over its k, before rotation (Qwen 3): one weight [dim] for all
// queries, one for all keys.
struct HeadNorms {
  at::Tensor q, k;  // undefined: no norms
  double epsilon = 1e-6;
};

namespace ops {

// From the product's output to q, k and v, normalised, rotated and stored side by side in one pass:
// q, k and v are views of one tensor [tokens, units, dim].
Heads rotate_heads(const at::Tensor& qkv, const HeadShape& shape, const RotaryTable& table,
                   const HeadNorms& norms);
// Views of q, k and v in the product's output, if they need no processing. Needs one key for each
// query.
Heads view_heads(const at::Tensor& qkv, const HeadShape& shape);

// From the gradients of either function's outputs to those of the product's output, and of its
// bias, if that is defined. With norms: qkv is forward's input, and the gradients of the norms'
// weights are added to. Without norms qkv may be undefined.
at::Tensor rotate_heads_backward(const Heads& gradients, const at::Tensor& qkv,
                                 const HeadShape& shape, const RotaryTable& table,
                                 const HeadNorms& norms, const HeadNorms& norm_gradients,
                                 const at::Tensor& bias_gradient = {});

}  // namespace ops
}  // namespace orch::train
