#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "core/base/counter_random.h"

namespace orch::train {

// Which elements to drop: a function of key and place, so that recomputation drops the same ones.
struct Dropout {
  double probability = 0;
  std::uint64_t key = 0;
  std::int64_t first = 0;  // the place of the first element in the whole batch
};

// Elements of a slice of a matrix: rows of `columns`, `stride` apart in the whole one.
struct Drawn {
  std::uint64_t key = 0;
  std::int64_t first = 0;  // of the slice, in the whole
  std::int64_t columns = 1, stride = 1;
  std::int64_t begin = 0;  // of what is drawn, in the slice
};
ORCH_HOST_DEVICE inline std::uint64_t place_of(const Drawn& drawn, std::int64_t element) {
  const auto i = drawn.begin + element;
  return static_cast<std::uint64_t>(drawn.first + i / drawn.columns * drawn.stride +
                                    i % drawn.columns);
}

// A product followed by GELU (tanh): `before` is what GELU was given.
struct Activated {
  at::Tensor before;
  at::Tensor after;
};

struct Normed {
  at::Tensor y;
  at::Tensor mean;  // of each row
  at::Tensor rstd;
};

// sum = residual + dropout(x), and its layer-norm.
struct AddedNorm {
  at::Tensor sum;
  Normed norm;
};

// The operations of a transformer, forward and backward, on the CPU and on CUDA. Activations are
// [tokens, features] in the type of the products; statistics and losses are fp32. Gradients of
// parameters are added to what is there. Backward functions take what forward was given or
// returned.
namespace ops {

// Normal numbers about 0, each a function of the key and its place in the whole. `to` is flat.
void fill_normal(const at::Tensor& to, double std, const Drawn& drawn);

// y = x W' + b, W [out, in]; bias may be undefined.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
at::Tensor linear_backward(const at::Tensor& dy, const at::Tensor& weight);  // dx
void add_weight_gradient(const at::Tensor& gradient, const at::Tensor& dy, const at::Tensor& x);
void add_bias_gradient(const at::Tensor& gradient, const at::Tensor& dy);

Activated linear_gelu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
at::Tensor gelu(const at::Tensor& before);
// From the gradient of what GELU gave to the gradient of what it was given, and from that to the
// bias's.
at::Tensor gelu_backward(const at::Tensor& dy, const at::Tensor& before,
                         const at::Tensor& bias_gradient);

Normed layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

AddedNorm add_layer_norm(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& weight,
                         const at::Tensor& bias, const Dropout& dropout);

// dx, plus `residual` if it is defined.
at::Tensor layer_norm_backward(const at::Tensor& dy, const at::Tensor& x, const Normed& normed,
                               const at::Tensor& weight, const at::Tensor& weight_gradient,
                               const at::Tensor& bias_gradient, const at::Tensor& residual);

at::Tensor dropout(const at::Tensor& x, const Dropout& dropout);  // x itself if nothing is dropped

// In place: logits become their gradient times `scale`. Only the first `vocab` columns count; the
// others' gradient is 0. Gives the loss of each row, fp32. A scale of 0 leaves the logits alone.
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& targets, std::int64_t vocab,
                         double scale);

// The same where each rank has some of the columns, of which `count` are words. targets: columns
// here, or outside for words of others. A row's statistics: the highest logit, the sum of
// exponentials below it, the target's logit or 0; fp32 [rows, 3].
at::Tensor row_statistics(const at::Tensor& logits, const at::Tensor& targets, std::int64_t count);
// all: the statistics of every rank, [ranks, rows, 3].
at::Tensor cross_entropy_from(const at::Tensor& all, const at::Tensor& logits,
                              const at::Tensor& targets, std::int64_t count, double scale);

// tokens [n] of int64; gradient [vocab, hidden] gets dy's rows.
void add_embedding_gradient(const at::Tensor& gradient, const at::Tensor& dy,
                            const at::Tensor& tokens);

}  // namespace ops
}  // namespace orch::train
