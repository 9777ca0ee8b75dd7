#include "backends/runtime/kernels/ops.h"

#include <ATen/ATen.h>

#include <cmath>
#include <tuple>

#include "backends/runtime/kernels/kernels.h"
#include "backends/runtime/kernels/loops.h"

namespace orch::train::ops {
namespace {

// On the CPU, 16-bit types are computed in fp32 and rounded: LibTorch 1.13 has no fast products for
// them there, and none at all for fp16.
bool is_emulated(const at::Tensor& x) { return x.is_cpu() && x.scalar_type() != at::kFloat; }
at::Tensor wide(const at::Tensor& x) { return is_emulated(x) ? x.to(at::kFloat) : x; }
at::Tensor narrow(const at::Tensor& x, const at::Tensor& like) { return x.to(like.scalar_type()); }

#ifdef ORCH_CUDA
// GELU and its derivative within a product save passes over memory but slow down the product, by
// more than the passes if each of its sums is long. (On an H200 both are equal at 2048 addends; a
// layer of 8192, shared by eight ranks, gains 4 %.)
constexpr std::int64_t kLongSum = 4096;
bool has_gelu_within(const at::Tensor& factor) { return factor.size(1) < kLongSum; }
#endif

// Even columns are gates, odd columns are up.
struct GateAndUp {
  at::Tensor gate, up;
};
GateAndUp gate_and_up(const at::Tensor& before) {
  const auto pairs = wide(before).view({before.size(0), -1, 2});
  return {pairs.select(2, 0), pairs.select(2, 1)};
}

at::Tensor swiglu_backward(const at::Tensor& dy, const at::Tensor& before) {
#ifdef ORCH_CUDA
  if (dy.is_cuda()) return cuda::swiglu_backward(dy, before);
#endif
  const auto [gate, up] = gate_and_up(before);
  const auto d = wide(dy), share = at::sigmoid(gate), silu = gate * share;
  const auto slope = share * (1 + gate - silu);  // derivative of silu
  return narrow(at::stack({d * up * slope, d * silu}, 2).view(before.sizes()), before);
}

NormOutput rms_norm(const at::Tensor& x, const NormWeights& weights) {
  const auto v = wide(x);
  const auto rstd = at::rsqrt(at::mean(v * v, {1}, true) + weights.epsilon);
  return {narrow(v * rstd * wide(weights.weight), x), {}, rstd};
}

// Gradients of x and of the weight.
std::tuple<at::Tensor, at::Tensor> rms_norm_backward(const at::Tensor& dy, const at::Tensor& x,
                                                     const at::Tensor& rstd,
                                                     const at::Tensor& weight) {
  const auto normed = x * rstd, scaled = dy * weight;
  const auto along = at::mean(scaled * normed, {1}, true);
  return {rstd * (scaled - normed * along), at::sum(dy * normed, {0})};
}

}  // namespace

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
#ifdef ORCH_CUDA
  if (cuda::products_work(x, weight, bias)) return cuda::linear(x, weight, bias);
#endif
  const auto transposed = wide(weight).t();
  const auto y =
      bias.defined() ? at::addmm(wide(bias), wide(x), transposed) : at::mm(wide(x), transposed);
  return narrow(y, x);
}

at::Tensor linear_backward(const at::Tensor& dy, const at::Tensor& weight) {
#ifdef ORCH_CUDA
  if (cuda::products_work(dy, weight, {})) return cuda::linear_backward(dy, weight, {});
#endif
  return narrow(at::mm(wide(dy), wide(weight)), dy);
}

void add_weight_gradient(const at::Tensor& gradient, const at::Tensor& dy, const at::Tensor& x,
                         bool is_first) {
#ifdef ORCH_CUDA
  if (x.is_cuda() && gradient.scalar_type() != x.scalar_type())
    return cuda::add_weight_gradient(gradient, dy, x, is_first);
#endif
  if (gradient.scalar_type() != at::kFloat && x.is_cpu()) {
    const auto product = at::mm(wide(dy).t(), wide(x));
    is_first ? gradient.copy_(product) : gradient.add_(product);
    return;
  }
  gradient.addmm_(wide(dy).t(), wide(x), is_first ? 0 : 1);
}

void add_bias_gradient(const at::Tensor& gradient, const at::Tensor& dy) {
#ifdef ORCH_CUDA
  if (dy.is_cuda()) return cuda::add_bias_gradient(gradient, dy);
#endif
  gradient.add_(at::sum(wide(dy), {0}));
}

ActivatedProduct linear_activated(const at::Tensor& x, const at::Tensor& weight,
                                  const at::Tensor& bias, Activation activation) {
#ifdef ORCH_CUDA
  if (activation == Activation::gelu && has_gelu_within(x) && cuda::products_work(x, weight, bias))
    return cuda::linear_gelu(x, weight, bias);
#endif
  const auto before = linear(x, weight, bias);
  return {before, activate(before, activation)};
}

at::Tensor activate(const at::Tensor& before, Activation activation) {
#ifdef ORCH_CUDA
  if (before.is_cuda())
    return activation == Activation::gelu ? cuda::gelu(before) : cuda::swiglu(before);
#endif
  if (activation == Activation::gelu) return narrow(at::gelu(wide(before), "tanh"), before);
  const auto [gate, up] = gate_and_up(before);
  return narrow(at::silu(gate).mul_(up), before);
}

at::Tensor activation_backward(const at::Tensor& dy, const at::Tensor& before,
                               Activation activation, const at::Tensor& bias_gradient) {
#ifdef ORCH_CUDA
  if (dy.is_cuda() && activation == Activation::gelu)
    return cuda::gelu_backward(dy, before, bias_gradient);
#endif
  const auto dx = activation == Activation::gelu
                      ? narrow(at::gelu_backward(wide(dy), wide(before), "tanh"), dy)
                      : swiglu_backward(dy, before);
  if (bias_gradient.defined()) add_bias_gradient(bias_gradient, dx);
  return dx;
}

at::Tensor linear_activated_backward(const at::Tensor& dy, const at::Tensor& weight,
                                     const at::Tensor& before, Activation activation,
                                     const at::Tensor& bias_gradient) {
#ifdef ORCH_CUDA
  if (activation == Activation::gelu && has_gelu_within(dy) &&
      cuda::products_work(dy, weight, before)) {
    const auto dx = cuda::linear_backward(dy, weight, before);
    if (bias_gradient.defined()) add_bias_gradient(bias_gradient, dx);
    return dx;
  }
#endif
  return activation_backward(linear_backward(dy, weight), before, activation, bias_gradient);
}

NormOutput norm(const at::Tensor& x, const NormWeights& weights) {
#ifdef ORCH_CUDA
  if (x.is_cuda()) return cuda::add_norm({}, x, weights, {}).norm;
#endif
  if (weights.kind == NormKind::rms) return rms_norm(x, weights);
  auto [y, mean, rstd] = at::native_layer_norm(wide(x), {x.size(1)}, wide(weights.weight),
                                               wide(weights.bias), weights.epsilon);
  return {narrow(y, x), mean, rstd};
}

AddedNormOutput add_norm(const at::Tensor& x, const at::Tensor& residual,
                         const NormWeights& weights, const Dropout& dropped) {
#ifdef ORCH_CUDA
  if (x.is_cuda()) return cuda::add_norm(x, residual, weights, dropped);
#endif
  const auto sum = residual + dropout(x, dropped);
  return {sum, norm(sum, weights)};
}

at::Tensor norm_backward(const at::Tensor& dy, const at::Tensor& x, const NormOutput& normed,
                         const NormWeights& weights, const at::Tensor& weight_gradient,
                         const at::Tensor& bias_gradient, const at::Tensor& residual,
                         const at::Tensor& sums) {
#ifdef ORCH_CUDA
  if (x.is_cuda())
    return cuda::norm_backward(dy, x, normed, weights, weight_gradient, bias_gradient, residual,
                               sums);
#endif
  at::Tensor dx, dw, db;
  if (weights.kind == NormKind::rms)
    std::tie(dx, dw) = rms_norm_backward(wide(dy), wide(x), normed.rstd, wide(weights.weight));
  else
    std::tie(dx, dw, db) = at::native_layer_norm_backward(
        wide(dy), wide(x), {x.size(1)}, normed.mean, normed.rstd, wide(weights.weight),
        wide(weights.weight), {true, true, true});
  weight_gradient.add_(dw);
  if (db.defined()) bias_gradient.add_(db);
  const auto out = narrow(residual.defined() ? dx + wide(residual) : dx, dy);
  if (sums.defined()) add_bias_gradient(sums, out);
  return out;
}

void fill_normal(const at::Tensor& to, double std, const DropoutMask& drawn) {
#ifdef ORCH_CUDA
  if (to.is_cuda()) return cuda::fill_normal(to, std, drawn);
#endif
  loops::fill_normal(to, std, drawn);
}

at::Tensor dropout(const at::Tensor& x, const Dropout& dropped) {
  if (dropped.probability == 0) return x;
  const auto y = at::empty_like(x);
#ifdef ORCH_CUDA
  if (x.is_cuda()) {
    cuda::dropout(x, y, dropped);
    return y;
  }
#endif
  loops::dropout(x, y, dropped);
  return y;
}

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& targets, std::int64_t vocab,
                         double scale) {
  const auto losses = at::empty({logits.size(0)}, logits.options().dtype(at::kFloat));
#ifdef ORCH_CUDA
  if (logits.is_cuda()) {
    cuda::cross_entropy(logits, targets, vocab, scale, losses);
    return losses;
  }
#endif
  loops::cross_entropy(logits, targets, vocab, scale, losses);
  return losses;
}

at::Tensor row_statistics(const at::Tensor& logits, const at::Tensor& targets, std::int64_t count) {
  const auto like = logits.options().dtype(at::kFloat);
  auto out = at::zeros({logits.size(0), 3}, like);
  out.select(1, 0).fill_(-INFINITY);
  if (count == 0) return out;  // padding only
  const auto words = logits.narrow(1, 0, count).to(at::kFloat);
  const auto highest = std::get<0>(words.max(1));
  const auto others = targets.lt(0).logical_or(targets.ge(count));
  const auto target = words.gather(1, targets.masked_fill(others, 0).unsqueeze(1)).squeeze(1);
  out.select(1, 0).copy_(highest);
  out.select(1, 1).copy_(at::sub(words, highest.unsqueeze(1)).exp_().sum(1));
  out.select(1, 2).copy_(target.masked_fill(others, 0));
  return out;
}

at::Tensor cross_entropy_from(const at::Tensor& all, const at::Tensor& logits,
                              const at::Tensor& targets, std::int64_t count, double scale) {
  const auto highest = std::get<0>(all.select(2, 0).max(0));
  // On a rank without vocabulary this is exp(-inf) = 0 times 0.
  const auto sum = all.select(2, 1).mul(at::sub(all.select(2, 0), highest).exp_()).sum(0);
  const auto losses = at::log(sum).add_(highest).sub_(all.select(2, 2).sum(0));
  if (scale == 0) return losses;
  logits.narrow(1, count, logits.size(1) - count).zero_();
  if (count == 0) return losses;
  const auto words = logits.narrow(1, 0, count);
  auto gradient = words.to(at::kFloat).sub_(highest.unsqueeze(1)).exp_();
  gradient.mul_(at::mul(sum.reciprocal(), scale).unsqueeze(1));
  const auto others = targets.lt(0).logical_or(targets.ge(count));
  const auto one_hot = others.logical_not().to(at::kFloat).mul_(-scale);
  gradient.scatter_add_(1, targets.masked_fill(others, 0).unsqueeze(1), one_hot.unsqueeze(1));
  words.copy_(gradient);
  return losses;
}

void add_embedding_gradient(const at::Tensor& gradient, const at::Tensor& dy,
                            const at::Tensor& tokens) {
  if (dy.is_cuda()) {  // sorted, not atomic: bitwise reproducible
    gradient.add_(
        at::embedding_dense_backward(dy.to(at::kFloat), tokens, gradient.size(0), -1, false));
    return;
  }
  const auto rows = wide(dy).to(gradient.scalar_type());
  gradient.index_add_(0, tokens, rows);  // one thread, in order
}

}  // namespace orch::train::ops
