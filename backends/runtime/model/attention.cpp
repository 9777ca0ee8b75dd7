#include "backends/runtime/model/attention.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "backends/runtime/kernels/ops.h"
#include "backends/runtime/model/fused_attention.h"

namespace orch::train {
namespace {

// fp32 on the CPU: see ops.cpp.
at::Tensor wide(const at::Tensor& x) { return x.is_cpu() ? x.to(at::kFloat) : x; }

// From [samples, heads, seq, dim] to one matrix per key: [samples * kv_heads, queries per key *
// seq, dim].
at::Tensor by_key(const at::Tensor& x, const HeadShape& shape) {
  return wide(x).reshape({x.size(0) * shape.kv_heads, -1, shape.dim});
}

// The reverse of by_key.
at::Tensor by_head(const at::Tensor& x, std::int64_t heads, const HeadShape& shape) {
  return x.view({-1, heads, shape.seq, shape.dim});
}

// Drops elements of the scores of all samples and heads, [samples * heads, seq, seq]. Dropout
// depends on the position in the whole model, where a rank's heads of one sample are contiguous.
at::Tensor drop(const at::Tensor& scores, const AttentionOptions& options,
                const AttentionPlace& place) {
  const auto heads = options.shape.heads, of_head = options.shape.seq * options.shape.seq;
  const auto first = (place.first_sample * options.all_heads + options.first_head) * of_head;
  if (heads == options.all_heads || place.dropout == 0)
    return ops::dropout(scores, {place.dropout, place.key, first});
  std::vector<at::Tensor> samples;
  for (std::int64_t at = 0; at < scores.size(0); at += heads)
    samples.push_back(
        ops::dropout(scores.narrow(0, at, heads),
                     {place.dropout, place.key, first + at / heads * options.all_heads * of_head}));
  return at::cat(samples);
}

}  // namespace

at::Tensor alibi_slopes(std::int64_t heads) {
  const auto power = static_cast<std::int64_t>(std::exp2(std::floor(std::log2(heads))));
  auto slopes = at::empty({heads}, at::kFloat);
  auto* to = slopes.data_ptr<float>();
  for (std::int64_t i = 0; i < heads; ++i) {
    // The first power of two of them are consecutive, the others are the odd elements of a sequence
    // twice as long.
    const double exponent =
        i < power ? 8.0 * static_cast<double>(i + 1) / static_cast<double>(power)
                  : 4.0 * static_cast<double>(2 * (i - power) + 1) / static_cast<double>(power);
    to[i] = static_cast<float>(std::exp2(-exponent));
  }
  return slopes;
}

std::int64_t AttentionSaved::bytes() const {
  return bytes_of(qkv) + bytes_of(heads.q) + bytes_of(heads.k) + bytes_of(heads.v) +
         bytes_of(probabilities) + bytes_of(logsumexp);
}

Attention::Attention(const AttentionOptions& options, at::ScalarType dtype, at::Device device)
    : options_(options),
      sdpa_(options.sdpa && fused_attention_works(options, dtype, device)),
      scale_(1 / std::sqrt(static_cast<double>(options.shape.dim))) {
  const auto seq = options.shape.seq;
  if (options.rotary) rotary_ = make_rotary_table(*options.rotary, seq, options.shape.dim, device);
  if (sdpa_ && !options.alibi) return;
  const auto type = device.is_cpu() ? at::kFloat : dtype;
  auto bias = at::full({seq, seq}, -std::numeric_limits<float>::infinity(), at::kFloat).triu(1);
  bias = bias.view({1, seq, seq});
  // Relative to the token itself: small distances, which matter most, are then exact in 16 bits
  // too.
  const auto places = at::arange(seq, at::kFloat);
  if (options.alibi)
    bias = bias + alibi_slopes(options.all_heads)
                          .narrow(0, options.first_head, options.shape.heads)
                          .view({-1, 1, 1}) *
                      (places - places.view({-1, 1}));
  bias_ = bias.to(at::TensorOptions().dtype(type).device(device));
}

bool Attention::rotates(const HeadNorms& norms) const {
  return rotary_.cos.defined() || norms.q.defined() || options_.shape.group() > 1;
}

Heads Attention::heads_of(const at::Tensor& qkv, const HeadNorms& norms) const {
  return rotates(norms) ? ops::rotate_heads(qkv, options_.shape, rotary_, norms)
                        : ops::view_heads(qkv, options_.shape);
}

// The rotated heads are enough, unless norms need their inputs.
Heads Attention::keep_heads(const at::Tensor& qkv, const HeadNorms& norms,
                            AttentionSaved& saved) const {
  const auto heads = heads_of(qkv, norms);
  if (!rotates(norms) || norms.q.defined()) saved.qkv = qkv;
  if (rotates(norms) && (options_.keep || !saved.qkv.defined())) saved.heads = heads;
  return heads;
}

at::Tensor Attention::probabilities(const at::Tensor& q, const at::Tensor& k) const {
  const auto seq = options_.shape.seq;
  auto scores = at::bmm(q, k.transpose(1, 2)).mul_(scale_).view({-1, seq, seq});
  scores.view({-1, options_.shape.heads, seq, seq}).add_(bias_);
  return at::softmax(scores, -1);
}

at::Tensor Attention::forward(const at::Tensor& qkv, const HeadNorms& norms,
                              const AttentionPlace& place, AttentionSaved& saved) const {
  const auto heads = keep_heads(qkv, norms, saved);
  if (sdpa_) return fused_attention(heads, options_, place, bias_, saved);
  const auto& shape = options_.shape;
  const auto q = by_key(heads.q, shape), k = by_key(heads.k, shape), v = by_key(heads.v, shape);
  const auto probabilities = this->probabilities(q, k);
  if (options_.keep) saved.probabilities = probabilities;
  const auto dropped = drop(probabilities, options_, place);
  const auto out = at::bmm(dropped.view({q.size(0), -1, shape.seq}), v);
  return by_head(out, shape.heads, shape)
      .transpose(1, 2)
      .reshape({qkv.size(0), -1})
      .to(qkv.scalar_type());
}

Heads Attention::backward_by_products(const at::Tensor& dout, const Heads& heads,
                                      const AttentionPlace& place, const at::Tensor& kept) const {
  const auto& shape = options_.shape;
  const auto q = by_key(heads.q, shape), k = by_key(heads.k, shape), v = by_key(heads.v, shape);
  const auto grouped = [&](const at::Tensor& scores) {
    return scores.view({q.size(0), -1, shape.seq});
  };
  const auto p = kept.defined() ? kept : probabilities(q, k);
  const auto dy = by_key(dout.view({-1, shape.seq, shape.heads, shape.dim}).transpose(1, 2), shape);
  const auto dv = at::bmm(grouped(drop(p, options_, place)).transpose(1, 2), dy);
  const auto dp = drop(at::bmm(dy, v.transpose(1, 2)).view(p.sizes()), options_, place);
  const auto ds = grouped(at::_softmax_backward_data(dp, p, -1, p.scalar_type()).mul_(scale_));
  return {by_head(at::bmm(ds, k), shape.heads, shape),
          by_head(at::bmm(ds.transpose(1, 2), q), shape.kv_heads, shape),
          by_head(dv, shape.kv_heads, shape)};
}

at::Tensor Attention::backward(const at::Tensor& dout, const HeadNorms& norms,
                               const HeadNorms& norm_gradients, const at::Tensor& bias_gradient,
                               const AttentionPlace& place, const AttentionSaved& saved) const {
  const auto heads = saved.heads.q.defined() ? saved.heads : heads_of(saved.qkv, norms);
  const auto gradients = sdpa_
                             ? fused_attention_backward(dout, heads, options_, place, bias_, saved)
                             : backward_by_products(dout, heads, place, saved.probabilities);
  return ops::rotate_heads_backward(gradients, saved.qkv, options_.shape, rotary_, norms,
                                    norm_gradients, bias_gradient)
      .to(dout.scalar_type());
}

}  // namespace orch::train
