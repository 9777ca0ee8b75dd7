#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "core/base/counter_random.h"

namespace orch::train {

// Which elements to drop: a function of key and position, so that recomputation drops the same
// ones.
struct Dropout {
  double probability = 0;
  std::uint64_t key = 0;
  std::int64_t first = 0;  // position of the first element in the whole batch
};

// The elements of a slice of a matrix: rows of `columns` elements, `stride` apart in the whole
// matrix.
struct DropoutMask {
  std::uint64_t key = 0;
  std::int64_t first = 0;  // of the slice, in the whole matrix
  std::int64_t columns = 1, stride = 1;
  std::int64_t begin = 0;  // of the random numbers, in the slice
};
ORCH_HOST_DEVICE inline std::uint64_t place_of(const DropoutMask& drawn, std::int64_t element) {
  const auto i = drawn.begin + element;
  return static_cast<std::uint64_t>(drawn.first + i / drawn.columns * drawn.stride +
                                    i % drawn.columns);
}

// The activation function after the first product of an MLP. gelu: by its tanh formula. swiglu:
// silu(gate) * up (Shazeer 2020), for which the product is twice as wide: columns 2i and 2i + 1 are
// gate i and up i. So a slice of the product's rows [2 ffn, hidden] has both factors of each
// element, and tensor parallelism cuts them as it cuts GELU's; Hugging Face has separate gate_proj
// (our even rows) and up_proj (the odd ones). A kernel reads both factors at one place.
enum class Activation { gelu, swiglu };

// The output of a product followed by its activation; `before` is the activation's input.
struct ActivatedProduct {
  at::Tensor before;
  at::Tensor after;
};

// layer: normalises by mean and deviation, with a bias. rms: by the root of the mean square (Zhang
// and Sennrich 2019), without mean and bias.
enum class NormKind { layer, rms };

struct NormWeights {
  NormKind kind = NormKind::layer;
  at::Tensor weight;
  at::Tensor bias;  // undefined for rms
  double epsilon = 1e-5;
};

struct NormOutput {
  at::Tensor y;
  at::Tensor mean;  // per row; undefined for rms
  at::Tensor rstd;
};

// sum = residual + dropout(x), and its norm.
struct AddedNormOutput {
  at::Tensor sum;
  NormOutput norm;
};

// The operations of a transformer, forward and backward, on the CPU and on CUDA. Activations are
// [tokens, features] in the type of the products; statistics and losses are fp32. Gradients of
// parameters are accumulated. Backward functions take what forward was given or returned.
namespace ops {

// Normally distributed numbers with mean 0, each a function of the key and its position in the
// whole tensor. `to` must be flat.
void fill_normal(const at::Tensor& to, double std, const DropoutMask& drawn);

// y = x W' + b, W [out, in]; bias may be undefined.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
at::Tensor linear_backward(const at::Tensor& dy, const at::Tensor& weight);  // dx
// is_first: overwrites the gradient instead of adding.
void add_weight_gradient(const at::Tensor& gradient, const at::Tensor& dy, const at::Tensor& x,
                         bool is_first = false);
void add_bias_gradient(const at::Tensor& gradient, const at::Tensor& dy);

ActivatedProduct linear_activated(const at::Tensor& x, const at::Tensor& weight,
                                  const at::Tensor& bias, Activation activation);
at::Tensor activate(const at::Tensor& before, Activation activation);
// From the gradient of the activation's output to that of its input, and of the bias, if that is
// defined. dy may be overwritten.
at::Tensor activation_backward(const at::Tensor& dy, const at::Tensor& before,
                               Activation activation, const at::Tensor& bias_gradient);
// The same from the gradient of the next product's output.
at::Tensor linear_activated_backward(const at::Tensor& dy, const at::Tensor& weight,
                                     const at::Tensor& before, Activation activation,
                                     const at::Tensor& bias_gradient);

NormOutput norm(const at::Tensor& x, const NormWeights& weights);
AddedNormOutput add_norm(const at::Tensor& x, const at::Tensor& residual,
                         const NormWeights& weights, const Dropout& dropout);
// dx, plus `residual` if it is defined. bias_gradient: undefined for rms. sums: if defined, the
// column sums of dx are added to it: the gradient of a bias that was added to x.
at::Tensor norm_backward(const at::Tensor& dy, const at::Tensor& x, const NormOutput& normed,
                         const NormWeights& weights, const at::Tensor& weight_gradient,
                         const at::Tensor& bias_gradient, const at::Tensor& residual,
                         const at::Tensor& sums = {});

at::Tensor dropout(const at::Tensor& x, const Dropout& dropout);  // x itself if none are dropped

// In place: replaces logits by their gradient times `scale`. Only the first `vocab` columns count;
// the others get gradient 0. Returns the loss of each row, fp32. A scale of 0 leaves the logits
// unchanged.
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& targets, std::int64_t vocab,
                         double scale);

// The same if each rank has some of the columns, of which `count` belong to the vocabulary.
// targets: columns of this rank, or outside its range for those of others. A row's statistics: the
// maximum of the logits, the sum of exponentials relative to it, the target's logit or 0; fp32
// [rows, 3].
at::Tensor row_statistics(const at::Tensor& logits, const at::Tensor& targets, std::int64_t count);
// all: the statistics of every rank, [ranks, rows, 3].
at::Tensor cross_entropy_from(const at::Tensor& all, const at::Tensor& logits,
                              const at::Tensor& targets, std::int64_t count, double scale);

// tokens: int64 [n]; adds dy's rows to gradient [vocab, hidden].
void add_embedding_gradient(const at::Tensor& gradient, const at::Tensor& dy,
                            const at::Tensor& tokens);

}  // namespace ops
}  // namespace orch::train
