#include "backends/runtime/model/attention.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "backends/runtime/kernels/ops.h"
#include "backends/runtime/model/fused_attention.h"

namespace orch::train {
namespace {

struct Heads {
  at::Tensor q, k, v;  // [samples * heads, seq, head_dim]
};

// fp32 on the CPU: see ops.cpp.
at::Tensor wide(const at::Tensor& x) { return x.is_cpu() ? x.to(at::kFloat) : x; }

at::Tensor by_head(const at::Tensor& x, const AttentionOptions& options) {
  return x.transpose(1, 2).reshape({-1, options.seq, options.head_dim});
}

at::Tensor by_token(const at::Tensor& x, const AttentionOptions& options) {
  return x.view({-1, options.heads, options.seq, options.head_dim}).transpose(1, 2);
}

Heads split(const at::Tensor& qkv, const AttentionOptions& options) {
  const auto all = wide(qkv).view({-1, options.seq, options.heads, 3, options.head_dim});
  return {by_head(all.select(3, 0), options), by_head(all.select(3, 1), options),
          by_head(all.select(3, 2), options)};
}

// Of the scores of all samples and heads, [samples * heads, seq, seq]. What is dropped depends on the
// place in the whole model, where a rank's heads of one sample lie together.
at::Tensor drop(const at::Tensor& scores, const AttentionOptions& options,
                const AttentionPlace& place) {
  const auto of_head = options.seq * options.seq;
  const auto first = (place.first_sample * options.all_heads + options.first_head) * of_head;
  if (options.heads == options.all_heads || place.dropout == 0)
    return ops::dropout(scores, {place.dropout, place.key, first});
  std::vector<at::Tensor> samples;
  for (std::int64_t at = 0; at < scores.size(0); at += options.heads)
    samples.push_back(
        ops::dropout(scores.narrow(0, at, options.heads),
                     {place.dropout, place.key,
                      first + at / options.heads * options.all_heads * of_head}));
  return at::cat(samples);
}

}  // namespace

at::Tensor alibi_slopes(std::int64_t heads) {
  const auto power = static_cast<std::int64_t>(std::exp2(std::floor(std::log2(heads))));
  auto slopes = at::empty({heads}, at::kFloat);
  auto* to = slopes.data_ptr<float>();
  for (std::int64_t i = 0; i < heads; ++i) {
    // The first power of two of them in a row, those beyond from the odd places of twice as many.
    const double exponent =
        i < power ? 8.0 * static_cast<double>(i + 1) / static_cast<double>(power)
                  : 4.0 * static_cast<double>(2 * (i - power) + 1) / static_cast<double>(power);
    to[i] = static_cast<float>(std::exp2(-exponent));
  }
  return slopes;
}

Attention::Attention(const AttentionOptions& options, at::ScalarType dtype, at::Device device)
    : options_(options),
      sdpa_(options.sdpa && fused_attention_works(options, dtype, device)),
      scale_(1 / std::sqrt(static_cast<double>(options.head_dim))) {
  if (sdpa_ && !options.alibi) return;
  const auto seq = options.seq;
  const auto type = device.is_cpu() ? at::kFloat : dtype;
  auto bias = at::full({seq, seq}, -std::numeric_limits<float>::infinity(), at::kFloat).triu(1);
  bias = bias.view({1, seq, seq});
  // Relative to the token itself: near it, where they matter, distances are exact in 16 bits too.
  const auto places = at::arange(seq, at::kFloat);
  if (options.alibi)
    bias = bias + alibi_slopes(options.all_heads)
                          .narrow(0, options.first_head, options.heads)
                          .view({-1, 1, 1}) *
                      (places - places.view({-1, 1}));
  bias_ = bias.to(at::TensorOptions().dtype(type).device(device));
}

at::Tensor Attention::probabilities(const at::Tensor& q, const at::Tensor& k) const {
  auto scores = at::bmm(q, k.transpose(1, 2)).mul_(scale_);
  scores.view({-1, options_.heads, options_.seq, options_.seq}).add_(bias_);
  return at::softmax(scores, -1);
}

at::Tensor Attention::forward(const at::Tensor& qkv, const AttentionPlace& place,
                              AttentionSaved& saved) const {
  if (sdpa_) return fused_attention(qkv, options_, place, bias_, saved);
  const auto [q, k, v] = split(qkv, options_);
  const auto probabilities = this->probabilities(q, k);
  if (options_.keep_scores) saved.probabilities = probabilities;
  const auto out = at::bmm(drop(probabilities, options_, place), v);
  return by_token(out, options_).reshape({qkv.size(0), -1}).to(qkv.scalar_type());
}

at::Tensor Attention::backward(const at::Tensor& dout, const at::Tensor& qkv,
                               const AttentionPlace& place, const AttentionSaved& saved) const {
  if (sdpa_) return fused_attention_backward(dout, qkv, options_, place, bias_, saved);
  const auto [q, k, v] = split(qkv, options_);
  const auto p = saved.probabilities.defined() ? saved.probabilities : probabilities(q, k);
  const auto dy =
      by_head(wide(dout).view({-1, options_.seq, options_.heads, options_.head_dim}), options_);
  const auto dv = at::bmm(drop(p, options_, place).transpose(1, 2), dy);
  const auto dp = drop(at::bmm(dy, v.transpose(1, 2)), options_, place);
  const auto ds = at::_softmax_backward_data(dp, p, -1, p.scalar_type()).mul_(scale_);
  const auto dq = at::bmm(ds, k), dk = at::bmm(ds.transpose(1, 2), q);
  return at::stack({by_token(dq, options_), by_token(dk, options_), by_token(dv, options_)}, 3)
      .reshape(qkv.sizes())
      .to(qkv.scalar_type());
}

}  // namespace orch::train
