#include "backends/runtime/kernels/heads.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

#include "backends/runtime/kernels/kernels.h"
#include "backends/runtime/kernels/ops.h"

namespace orch::train {
namespace {

// Turns per token of each pair. As in Hugging Face: frequencies and angles are rounded to fp32,
// which matters at distant positions.
float frequency(const RotaryOptions& options, std::int64_t pair, std::int64_t dim) {
  const auto plain = static_cast<float>(
      1 / std::pow(options.theta, 2 * static_cast<double>(pair) / static_cast<double>(dim)));
  if (options.factor == 1) return plain;
  const double over_context =
      static_cast<double>(options.first_context) * plain / (2 * std::numbers::pi);
  const double low = options.low_frequency_factor, high = options.high_frequency_factor;
  if (over_context > high) return plain;
  if (over_context < low) return static_cast<float>(plain / options.factor);
  const double kept = (over_context - low) / (high - low);
  return static_cast<float>((1 - kept) * plain / options.factor + kept * plain);
}

struct HeadParts {
  at::Tensor q, k, v;  // [samples, seq, heads or kv_heads, dim]
};

HeadParts parts_of(const at::Tensor& qkv, const HeadShape& shape) {
  const auto group = shape.group();
  const auto all = qkv.view({-1, shape.seq, shape.kv_heads, group + 2, shape.dim});
  return {all.narrow(3, 0, group).reshape({-1, shape.seq, shape.heads, shape.dim}),
          all.select(3, group), all.select(3, group + 1)};
}

// x: fp32. way: 1 rotates, -1 rotates back.
at::Tensor rotate(const at::Tensor& x, const RotaryTable& table, double way) {
  if (!table.cos.defined()) return x;
  const auto half = x.size(3) / 2;
  const auto a = x.narrow(3, 0, half), b = x.narrow(3, half, half);
  const auto cos = table.cos.unsqueeze(1), sin = table.sin.unsqueeze(1) * way;
  return at::cat({a * cos - b * sin, b * cos + a * sin}, 3);
}

at::Tensor rstd_of(const at::Tensor& x, double epsilon) {
  return at::rsqrt(at::mean(x * x, {3}, true) + epsilon);
}

at::Tensor norm_and_rotate(const at::Tensor& x, const RotaryTable& table, const at::Tensor& weight,
                           double epsilon) {
  const auto wide = x.to(at::kFloat);
  if (!weight.defined()) return rotate(wide, table, 1);
  return rotate(wide * rstd_of(wide, epsilon) * weight.to(at::kFloat), table, 1);
}

// gradient: [samples, heads, seq, dim]. x: forward's input; undefined without a norm.
at::Tensor backward(const at::Tensor& gradient, const at::Tensor& x, const RotaryTable& table,
                    const at::Tensor& weight, const at::Tensor& weight_gradient, double epsilon) {
  const auto dy = rotate(gradient.transpose(1, 2).to(at::kFloat), table, -1);
  if (!weight.defined()) return dy;
  const auto wide = x.to(at::kFloat), rstd = rstd_of(wide, epsilon), normed = wide * rstd;
  weight_gradient.add_(at::sum(dy * normed, {0, 1, 2}));
  const auto scaled = dy * weight.to(at::kFloat);
  return rstd * (scaled - normed * at::mean(scaled * normed, {3}, true));
}

}  // namespace

RotaryTable make_rotary_table(const RotaryOptions& options, std::int64_t seq, std::int64_t dim,
                              at::Device device) {
  const auto half = dim / 2;
  const RotaryTable table{at::empty({seq, half}, at::kFloat), at::empty({seq, half}, at::kFloat)};
  auto *cos = table.cos.data_ptr<float>(), *sin = table.sin.data_ptr<float>();
  for (std::int64_t pair = 0; pair < half; ++pair) {
    const auto each = frequency(options, pair, dim);
    for (std::int64_t place = 0; place < seq; ++place) {
      const double angle = static_cast<float>(place) * each;
      cos[place * half + pair] = static_cast<float>(std::cos(angle));
      sin[place * half + pair] = static_cast<float>(std::sin(angle));
    }
  }
  return {table.cos.to(device), table.sin.to(device)};
}

namespace ops {

Heads rotate_heads(const at::Tensor& qkv, const HeadShape& shape, const RotaryTable& table,
                   const HeadNorms& norms) {
  const auto out =
      at::empty({qkv.size(0) / shape.seq, shape.seq, shape.units(), shape.dim}, qkv.options());
  const auto heads = [&](std::int64_t first, std::int64_t count) {
    return out.narrow(2, first, count);
  };
  const auto q = heads(0, shape.heads), k = heads(shape.heads, shape.kv_heads),
             v = heads(shape.heads + shape.kv_heads, shape.kv_heads);
#ifdef ORCH_CUDA
  if (qkv.is_cuda() && cuda::heads_work(qkv, shape, norms)) {
    cuda::rotate_heads(qkv, shape, table, norms, out);
    return {q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)};
  }
#endif
  const auto parts = parts_of(qkv, shape);
  q.copy_(norm_and_rotate(parts.q, table, norms.q, norms.epsilon));
  k.copy_(norm_and_rotate(parts.k, table, norms.k, norms.epsilon));
  v.copy_(parts.v);
  return {q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)};
}

Heads view_heads(const at::Tensor& qkv, const HeadShape& shape) {
  const auto [q, k, v] = parts_of(qkv, shape);
  return {q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)};
}

at::Tensor rotate_heads_backward(const Heads& gradients, const at::Tensor& qkv,
                                 const HeadShape& shape, const RotaryTable& table,
                                 const HeadNorms& norms, const HeadNorms& norm_gradients,
                                 const at::Tensor& bias_gradient) {
#ifdef ORCH_CUDA
  if (gradients.q.is_cuda() && cuda::heads_work(gradients.q, shape, norms))
    return cuda::rotate_heads_backward(gradients, qkv, shape, table, norms, norm_gradients,
                                       bias_gradient);
#endif
  const auto given = norms.q.defined() ? parts_of(qkv, shape) : HeadParts();
  const auto dq = backward(gradients.q, given.q, table, norms.q, norm_gradients.q, norms.epsilon),
             dk = backward(gradients.k, given.k, table, norms.k, norm_gradients.k, norms.epsilon),
             dv = gradients.v.transpose(1, 2);
  const auto samples = dq.size(0), group = shape.group();
  const auto type = gradients.q.options();
  const auto out = at::empty({samples, shape.seq, shape.kv_heads, group + 2, shape.dim}, type);
  out.narrow(3, 0, group).copy_(dq.view({samples, shape.seq, shape.kv_heads, group, shape.dim}));
  out.select(3, group).copy_(dk);
  out.select(3, group + 1).copy_(dv);
  const auto rows = out.view({samples * shape.seq, shape.units() * shape.dim});
  if (bias_gradient.defined()) add_bias_gradient(bias_gradient, rows);
  return rows;
}

}  // namespace ops
}  // namespace orch::train
