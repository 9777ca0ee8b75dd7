#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace orch::train {

// The heads of a rank. The QKV product gives them group by group: the queries that share a key and
// a value, then that key, then that value; [tokens, kv_heads, heads / kv_heads + 2, dim]. So the
// heads of a tensor-parallel rank are a slice of the product, whose cut falls between groups. With
// as many keys as queries, each head's q, k and v lie beside each other.
struct HeadShape {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t dim = 1;
  std::int64_t seq = 1;

  std::int64_t group() const { return heads / kv_heads; }
  std::int64_t units() const { return heads + 2 * kv_heads; }  // of a token
};

// What attention takes: [samples, heads (k and v: kv_heads), seq, dim], of any strides but the
// last's.
struct Heads {
  at::Tensor q, k, v;
};

// Rotary positions (Su et al. 2021) as Llama and Hugging Face have them: elements i and i + dim / 2
// of a head's q and k are turned by an angle that grows with the position. fp32, [seq, dim / 2].
struct RotaryTable {
  at::Tensor cos, sin;  // undefined: nothing is turned
};

struct RotaryOptions {
  double theta = 10000;
  // Llama 3.1's way to a longer context: angles that turn less than low_frequency_factor times over
  // the first context grow `factor` times slower, those that turn more than high_frequency_factor
  // times stay, and between the two it goes gradually. 1: nothing is scaled.
  double factor = 1;
  double low_frequency_factor = 1;
  double high_frequency_factor = 4;
  std::int64_t first_context = 8192;  // original_max_position_embeddings
};

RotaryTable make_rotary_table(const RotaryOptions& options, std::int64_t seq, std::int64_t dim,
                              at::Device device);

// RMS norms over each head's q and over its k, before they are turned (Qwen 3): one weight [dim]
// for all queries, one for all keys.
struct HeadNorms {
  at::Tensor q, k;  // undefined: there are none
  double epsilon = 1e-6;
};

namespace ops {

// From the product to q, k and v, normed, turned and laid side by side in one pass: q, k and v are
// views of one tensor [tokens, units, dim].
Heads rotate_heads(const at::Tensor& qkv, const HeadShape& shape, const RotaryTable& table,
                   const HeadNorms& norms);
// The product's own q, k and v where nothing is to be done to them: views. One key for each query.
Heads view_heads(const at::Tensor& qkv, const HeadShape& shape);

// From the gradients of what either gave to the product's, and from that to its bias's, if that is
// defined. With norms: qkv is what was given, and the gradients of their weights are added to.
// Without, qkv may be undefined.
at::Tensor rotate_heads_backward(const Heads& gradients, const at::Tensor& qkv,
                                 const HeadShape& shape, const RotaryTable& table,
                                 const HeadNorms& norms, const HeadNorms& norm_gradients,
                                 const at::Tensor& bias_gradient = {});

}  // namespace ops
}  // namespace orch::train
