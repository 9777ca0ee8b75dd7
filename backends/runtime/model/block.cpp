#include "backends/runtime/model/block.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <stdexcept>

#include "backends/runtime/kernels/random.h"

namespace orch::train {
namespace {

constexpr const char* kNorms = "norms, dropout, GELU";

std::int64_t bytes_of(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<std::int64_t>(tensor.nbytes()) : 0;
}

}  // namespace

Recompute parse_recompute(const std::string& text) {
  if (text == "none") return Recompute::none;
  if (text == "selective") return Recompute::selective;
  if (text == "full") return Recompute::full;
  throw std::invalid_argument("recompute: '" + text + "' is none of none, selective, full");
}

std::uint64_t dropout_key(std::uint64_t seed, std::int64_t step, std::int64_t layer, int site) {
  auto key = combine(seed, static_cast<std::uint64_t>(step));
  key = combine(key, static_cast<std::uint64_t>(layer));
  return combine(key, static_cast<std::uint64_t>(site));
}

at::Tensor Stream::sum() const {
  return pending.defined() ? residual + ops::dropout(pending, dropout) : residual;
}

std::int64_t BlockSaved::bytes() const {
  std::int64_t sum = 0;
  for (const auto& tensor :
       {x, norm1.y, norm1.mean, norm1.rstd, qkv, attention.probabilities, attention.logsumexp,
        attended, norm2.sum, norm2.norm.y, norm2.norm.mean, norm2.norm.rstd, mlp.before, mlp.after})
    sum += bytes_of(tensor);
  return sum;
}

std::vector<ParameterSpec> Block::specs(std::int64_t layer, std::int64_t hidden) {
  const auto name = [&](const char* what) { return fmt::format("layers.{}.{}", layer, what); };
  const auto h = hidden;
  return {{name("mlp.down.weight"), {h, 4 * h}, 1, Init::scaled_normal, true},
          {name("mlp.down.bias"), {h}, -1, Init::zeros, false},
          {name("mlp.up.weight"), {4 * h, h}, 0, Init::normal, true},
          {name("mlp.up.bias"), {4 * h}, 0, Init::zeros, false},
          {name("norm2.weight"), {h}, -1, Init::ones, false},
          {name("norm2.bias"), {h}, -1, Init::zeros, false},
          {name("attention.out.weight"), {h, h}, 1, Init::scaled_normal, true},
          {name("attention.out.bias"), {h}, -1, Init::zeros, false},
          {name("attention.qkv.weight"), {3 * h, h}, 0, Init::normal, true},
          {name("attention.qkv.bias"), {3 * h}, 0, Init::zeros, false},
          {name("norm1.weight"), {h}, -1, Init::ones, false},
          {name("norm1.bias"), {h}, -1, Init::zeros, false}};
}

Block::Block(const BlockOptions& options, Parameters& parameters, const Attention& attention,
             Profile* profile)
    : options_(options), parameters_(&parameters), attention_(&attention), profile_(profile) {
  const auto find = [&](const char* what) {
    const auto name = fmt::format("layers.{}.{}", options.layer, what);
    return Linear{parameters.index(name + ".weight"), parameters.index(name + ".bias")};
  };
  norm1_ = find("norm1");
  qkv_ = find("attention.qkv");
  out_ = find("attention.out");
  norm2_ = find("norm2");
  up_ = find("mlp.up");
  down_ = find("mlp.down");
}

Dropout Block::dropout_at(int site, const Place& place) const {
  return {options_.dropout, dropout_key(options_.seed, place.step, options_.layer, site),
          (place.first_sample * place.seq + place.first_row) * options_.hidden};
}

AttentionPlace Block::attention_at(const Place& place, bool drops) const {
  return {dropout_key(options_.seed, place.step, options_.layer, 0), place.first_sample,
          drops ? options_.attention_dropout : 0};
}

// The bias is added once: by the first rank, before the sum.
at::Tensor Block::apply_row(const Linear& linear, const at::Tensor& x, const char* item) const {
  at::Tensor partial;
  {
    Profile::Scope scope(profile_, item);
    partial = ops::linear(x, weight(linear.weight),
                          options_.axis.rank() == 0 ? weight(linear.bias) : at::Tensor());
  }
  return options_.axis.reduce(partial).take();
}

Stream Block::forward(const Stream& in, const Place& place, BlockSaved* saved) const {
  BlockSaved local;
  auto& keep = saved ? *saved : local;
  {
    Profile::Scope scope(profile_, kNorms);
    keep.x = in.residual;
    if (in.pending.defined()) {
      auto added = ops::add_layer_norm(in.pending, in.residual, weight(norm1_.weight),
                                       weight(norm1_.bias), saved ? in.dropout : Dropout());
      keep.x = added.sum;
      keep.norm1 = added.norm;
    } else {
      keep.norm1 = ops::layer_norm(keep.x, weight(norm1_.weight), weight(norm1_.bias));
    }
  }
  const auto norm1 = keep.norm1;
  if (saved && options_.recompute == Recompute::full) {
    keep.norm1 = {};
    local.x = keep.x;
  }
  auto& used = saved && options_.recompute == Recompute::full ? local : keep;
  forward_from(norm1, place, saved != nullptr, used);
  Stream out{used.norm2.sum, apply_row(down_, used.mlp.after, "MLP down"), dropout_at(2, place)};
  if (options_.recompute == Recompute::selective)
    for (auto* cheap : {&keep.norm1.y, &keep.norm2.norm.y, &keep.mlp.after}) cheap->reset();
  return out;
}

// What backward needs and forward did not keep.
void Block::compute_again(const Place& place, BlockSaved& saved) const {
  if (options_.recompute == Recompute::none) return;
  const auto norm = [&](const at::Tensor& x, const Linear& with) {
    return ops::layer_norm(x, weight(with.weight), weight(with.bias));
  };
  {
    Profile::Scope scope(profile_, kNorms);
    saved.norm1 = norm(saved.x, norm1_);
    if (options_.recompute == Recompute::selective) {
      saved.norm2.norm = norm(saved.norm2.sum, norm2_);
      saved.mlp.after = ops::gelu(saved.mlp.before);
    }
  }
  if (options_.recompute == Recompute::full) forward_from(saved.norm1, place, true, saved);
}

void Block::forward_from(const Normed& norm1, const Place& place, bool drops,
                         BlockSaved& saved) const {
  const auto x = saved.x;
  {
    const auto rows = options_.axis.gather(norm1.y).take();
    Profile::Scope scope(profile_, "QKV");
    saved.qkv = ops::linear(rows, weight(qkv_.weight), weight(qkv_.bias));
  }
  {
    Profile::Scope scope(profile_, "attention");
    saved.attended = attention_->forward(saved.qkv, attention_at(place, drops), saved.attention);
  }
  const auto projected = apply_row(out_, saved.attended, "attention output");
  {
    Profile::Scope scope(profile_, kNorms);
    saved.norm2 = ops::add_layer_norm(projected, x, weight(norm2_.weight), weight(norm2_.bias),
                                      drops ? dropout_at(1, place) : Dropout());
  }
  const auto normed = options_.axis.gather(saved.norm2.norm.y).take();
  Profile::Scope scope(profile_, "MLP up");
  saved.mlp = ops::linear_gelu(normed, weight(up_.weight), weight(up_.bias));
}

void Block::add_weight_gradient(std::size_t parameter, const at::Tensor& dy, const at::Tensor& x,
                                const Gradients& gradients) const {
  if (gradients.put_off) {
    gradients.put_off->push_back({parameter, dy, x});
    return;
  }
  ops::add_weight_gradient(gradient(parameter), dy, x);
  gradients.tell(parameter);
}

// With sequence parallelism the bias's gradient lacks the other ranks' rows: the engine adds them.
at::Tensor Block::row_backward(const Linear& linear, const at::Tensor& dy, const at::Tensor& x,
                               const char* item, const Gradients& gradients) const {
  const auto rows = options_.axis.gather(dy).take();
  Profile::Scope scope(profile_, item);
  add_weight_gradient(linear.weight, rows, x, gradients);
  ops::add_bias_gradient(gradient(linear.bias), dy);
  gradients.tell(linear.bias);
  return ops::linear_backward(rows, weight(linear.weight));
}

// What travels is under way while the gradient of the weight is computed.
at::Tensor Block::column_backward(const Linear& linear, const at::Tensor& dy, const at::Tensor& x,
                                  const char* item, const Gradients& gradients) const {
  auto rows = options_.axis.gather(x);
  at::Tensor partial;
  {
    Profile::Scope scope(profile_, item);
    partial = ops::linear_backward(dy, weight(linear.weight));
  }
  auto dx = options_.axis.reduce(partial);
  const auto given = rows.take();
  {
    Profile::Scope scope(profile_, item);
    add_weight_gradient(linear.weight, dy, given, gradients);
  }
  return dx.take();
}

at::Tensor Block::backward(const at::Tensor& dy, const Place& place, BlockSaved& saved,
                           const Gradients& gradients) const {
  compute_again(place, saved);
  const auto dx2 = mlp_backward(dy, place, saved, gradients);
  const auto dx = attention_backward(dx2, place, saved, gradients);
  saved = {};
  return dx;
}

at::Tensor Block::mlp_backward(const at::Tensor& dy, const Place& place, BlockSaved& saved,
                               const Gradients& gradients) const {
  at::Tensor d;
  {
    Profile::Scope scope(profile_, kNorms);
    d = ops::dropout(dy, dropout_at(2, place));
  }
  d = row_backward(down_, d, saved.mlp.after, "MLP down", gradients);
  saved.mlp.after.reset();
  {
    Profile::Scope scope(profile_, kNorms);
    d = ops::gelu_backward(d, saved.mlp.before, gradient(up_.bias));
  }
  const auto dh = column_backward(up_, d, saved.norm2.norm.y, "MLP up", gradients);
  gradients.tell(up_.bias);
  Profile::Scope scope(profile_, kNorms);
  auto dx = ops::layer_norm_backward(dh, saved.norm2.sum, saved.norm2.norm, weight(norm2_.weight),
                                     gradient(norm2_.weight), gradient(norm2_.bias), dy);
  gradients.tell(norm2_.weight);
  gradients.tell(norm2_.bias);
  return dx;
}

at::Tensor Block::attention_backward(const at::Tensor& dy, const Place& place, BlockSaved& saved,
                                     const Gradients& gradients) const {
  at::Tensor d;
  {
    Profile::Scope scope(profile_, kNorms);
    d = ops::dropout(dy, dropout_at(1, place));
  }
  d = row_backward(out_, d, saved.attended, "attention output", gradients);
  {
    Profile::Scope scope(profile_, "attention");
    d = attention_->backward(d, saved.qkv, attention_at(place, true), saved.attention);
  }
  {
    Profile::Scope scope(profile_, "QKV");
    ops::add_bias_gradient(gradient(qkv_.bias), d);
  }
  const auto dh = column_backward(qkv_, d, saved.norm1.y, "QKV", gradients);
  gradients.tell(qkv_.bias);
  Profile::Scope scope(profile_, kNorms);
  auto dx = ops::layer_norm_backward(dh, saved.x, saved.norm1, weight(norm1_.weight),
                                     gradient(norm1_.weight), gradient(norm1_.bias), dy);
  gradients.tell(norm1_.weight);
  gradients.tell(norm1_.bias);
  return dx;
}

}  // namespace orch::train
