#pragma once

#ifdef ORCH_CUDA

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "backends/runtime/kernels/heads.h"
#include "backends/runtime/kernels/ops.h"

// Our own CUDA kernels, for operations that ATen does in several passes over memory. 16-bit and
// fp32 activations, fp32 gradients (or of the activations' type). All run on the current stream,
// and give the same bits every time.
namespace orch::train::cuda {

// gradient += dy' x in fp32, or = if is_first, from 16-bit factors, in one product.
void add_weight_gradient(const at::Tensor& gradient, const at::Tensor& dy, const at::Tensor& x,
                         bool is_first);
void add_bias_gradient(const at::Tensor& gradient, const at::Tensor& dy);
// True if the three functions below support the tensors: 16-bit types, widths of whole vectors.
bool products_work(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& other);
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
// Adds the bias, if it is defined, and applies GELU in the product's epilogue.
ActivatedProduct linear_gelu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
// dx; before: the input of a GELU whose output the product took; then dx is the gradient of that.
// May be undefined.
at::Tensor linear_backward(const at::Tensor& dy, const at::Tensor& weight,
                           const at::Tensor& before);
at::Tensor gelu(const at::Tensor& before);
// Overwrites dy; computes the bias's gradient, if it is defined, in the same pass.
at::Tensor gelu_backward(const at::Tensor& dy, const at::Tensor& before,
                         const at::Tensor& bias_gradient);
at::Tensor swiglu(const at::Tensor& before);
at::Tensor swiglu_backward(const at::Tensor& dy, const at::Tensor& before);
// x undefined: the sum equals the residual.
AddedNormOutput add_norm(const at::Tensor& x, const at::Tensor& residual,
                         const NormWeights& weights, const Dropout& dropout);
at::Tensor norm_backward(const at::Tensor& dy, const at::Tensor& x, const NormOutput& normed,
                         const NormWeights& weights, const at::Tensor& weight_gradient,
                         const at::Tensor& bias_gradient, const at::Tensor& residual,
                         const at::Tensor& sums_of_dx);
void fill_normal(const at::Tensor& to, double std, const DropoutMask& drawn);
void dropout(const at::Tensor& from, const at::Tensor& to, const Dropout& dropout);
void cross_entropy(const at::Tensor& logits, const at::Tensor& targets, std::int64_t vocab,
                   double scale, const at::Tensor& losses);

// The same as ops::rotate_heads and its backward, if heads_work() is true.
bool heads_work(const at::Tensor& qkv, const HeadShape& shape, const HeadNorms& norms);
void rotate_heads(const at::Tensor& qkv, const HeadShape& shape, const RotaryTable& table,
                  const HeadNorms& norms, const at::Tensor& to);
at::Tensor rotate_heads_backward(const Heads& gradients, const at::Tensor& qkv,
                                 const HeadShape& shape, const RotaryTable& table,
                                 const HeadNorms& norms, const HeadNorms& norm_gradients,
                                 const at::Tensor& bias_gradient);

// One step of AdamW on flat buffers, with the formula of adamw_kernel.cpp.
struct AdamwArguments {
  at::Tensor master;    // fp32, or the 16-bit weights where there are no masters
  at::Tensor weight;    // the 16-bit copy to write; undefined: the master is the weight
  at::Tensor gradient;  // fp32 or the weight's type
  at::Tensor exp_avg;   // both moments in the master's type
  at::Tensor exp_avg_sq;
  at::Tensor chunks;  // int64 [n, 3] on the device: offset, count, whether it decays (0 or 1)
  double learning_rate = 0;
  double weight_decay = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  double gradient_scale = 1;
  std::int64_t step = 1;
};
void adamw(const AdamwArguments& arguments);

}  // namespace orch::train::cuda

#endif
