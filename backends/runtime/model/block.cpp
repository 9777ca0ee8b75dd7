#include "backends/runtime/model/block.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <stdexcept>

#include "backends/runtime/kernels/random.h"

namespace orch::train {
namespace {

constexpr const char* kNorms = "norms, dropout, GELU";

}  // namespace

Recompute parse_recompute(const std::string& text) {
  if (text == "none") return Recompute::none;
  if (text == "selective") return Recompute::selective;
  if (text == "full") return Recompute::full;
  throw std::invalid_argument("recompute: '" + text + "' is not none, selective or full");
}

std::uint64_t dropout_key(std::int64_t seed, std::int64_t step, std::int64_t layer, int site) {
  auto key = combine(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(step));
  key = combine(key, static_cast<std::uint64_t>(layer));
  return combine(key, static_cast<std::uint64_t>(site));
}

std::int64_t SavedBlock::bytes() const {
  auto sum = attention.bytes();
  for (const auto& tensor : {x, norm1.y, norm1.mean, norm1.rstd, attended, norm2.sum, norm2.norm.y,
                             norm2.norm.mean, norm2.norm.rstd, mlp.before, mlp.after})
    sum += bytes_of(tensor);
  return sum;
}

std::vector<ParameterSpec> TransformerBlock::specs(const plan::Model& model, std::int64_t layer) {
  const auto name = [&](const char* what) { return fmt::format("layers.{}.{}", layer, what); };
  const auto h = model.hidden, attended = model.heads * model.head_dim;
  const auto qkv = static_cast<std::int64_t>(model.q_width() + model.kv_width());
  const auto up = static_cast<std::int64_t>(model.up_width(static_cast<double>(model.ffn_hidden)));
  std::vector<ParameterSpec> specs;
  const auto product = [&](const char* what, std::int64_t out, std::int64_t in, int split_dim,
                           bool has_bias) {
    specs.push_back({name(what) + ".weight",
                     {out, in},
                     split_dim,
                     split_dim == 1 ? WeightInit::scaled_normal : WeightInit::normal,
                     true});
    if (has_bias)
      specs.push_back(
          {name(what) + ".bias", {out}, split_dim == 1 ? -1 : 0, WeightInit::zeros, false});
  };
  const auto norm = [&](const char* what) {
    for (auto& spec : Norm::specs(model, name(what))) specs.push_back(std::move(spec));
  };
  const auto head_norm = [&](const char* what) {
    specs.push_back({name(what), {model.head_dim}, -1, WeightInit::ones, false});
    specs.back().is_partial = true;
  };
  product("mlp.down", h, model.ffn_hidden, 1, model.bias);
  product("mlp.up", up, h, 0, model.bias);
  norm("norm2");
  product("attention.out", h, attended, 1, model.bias);
  if (model.qk_norm) {
    head_norm("attention.q_norm.weight");
    head_norm("attention.k_norm.weight");
  }
  product("attention.qkv", qkv, h, 0, model.has_qkv_bias());
  norm("norm1");
  return specs;
}

TransformerBlock::TransformerBlock(const ModelOptions& options, std::int64_t layer,
                                   Parameters& parameters, const Attention& attention,
                                   Profile* profile)
    : options_(options),
      layer_(layer),
      parameters_(&parameters),
      attention_(&attention),
      profile_(profile),
      norm1_(options.config, parameters, fmt::format("layers.{}.norm1", layer)),
      norm2_(options.config, parameters, fmt::format("layers.{}.norm2", layer)) {
  const auto& has = options.config;
  qkv_ = find("attention.qkv", has.has_qkv_bias());
  out_ = find("attention.out", has.bias);
  up_ = find("mlp.up", has.bias);
  down_ = find("mlp.down", has.bias);
  if (!has.qk_norm) return;
  q_norm_ = find("attention.q_norm", false).weight;
  k_norm_ = find("attention.k_norm", false).weight;
}

TransformerBlock::Linear TransformerBlock::find(const char* what, bool has_bias) const {
  const auto name = fmt::format("layers.{}.{}", layer_, what);
  Linear found{parameters_->index(name + ".weight")};
  if (has_bias) found.bias = parameters_->index(name + ".bias");
  return found;
}

HeadNorms TransformerBlock::head_norms() const {
  return {weight(q_norm_), weight(k_norm_), options_.config.norm_epsilon};
}

HeadNorms TransformerBlock::head_norm_gradients() const {
  return {gradient(q_norm_), gradient(k_norm_)};
}

Dropout TransformerBlock::dropout_at(int site, const LayerPlace& place) const {
  return {options_.dropout, dropout_key(options_.seed, place.step, layer_, site),
          (place.first_sample * place.seq + place.first_row) * options_.config.hidden};
}

AttentionPlace TransformerBlock::attention_at(const LayerPlace& place, bool drops) const {
  return {dropout_key(options_.seed, place.step, layer_, 0), place.first_sample,
          drops ? options_.attention_dropout : 0};
}

// Only the first rank adds the bias, before the sum.
at::Tensor TransformerBlock::apply_row(const Linear& linear, const at::Tensor& x,
                                       const char* item) const {
  at::Tensor partial;
  {
    Profile::Scope scope(profile_, item);
    partial = ops::linear(x, weight(linear.weight),
                          options_.axis.rank() == 0 ? weight(linear.bias) : at::Tensor());
  }
  return options_.axis.reduce(partial).take();
}

ResidualStream TransformerBlock::forward(const ResidualStream& in, const LayerPlace& place,
                                         SavedBlock* saved) const {
  SavedBlock local;
  auto& keep = saved ? *saved : local;
  {
    Profile::Scope scope(profile_, kNorms);
    const auto added = norm1_.forward(in, saved != nullptr);
    keep.x = added.sum;
    keep.norm1 = added.norm;
  }
  const auto norm1 = keep.norm1;
  if (saved && options_.recompute == Recompute::full) {
    keep.norm1 = {};
    local.x = keep.x;
  }
  auto& used = saved && options_.recompute == Recompute::full ? local : keep;
  forward_from(norm1, place, saved != nullptr, used);
  ResidualStream out{used.norm2.sum, apply_row(down_, used.mlp.after, "MLP down"),
                     dropout_at(2, place)};
  if (options_.recompute == Recompute::selective)
    for (auto* cheap : {&keep.norm1.y, &keep.norm2.norm.y, &keep.mlp.after}) cheap->reset();
  return out;
}

// Recomputes what backward needs and forward did not store.
void TransformerBlock::compute_again(const LayerPlace& place, SavedBlock& saved) const {
  if (options_.recompute == Recompute::none) return;
  {
    Profile::Scope scope(profile_, kNorms);
    saved.norm1 = norm1_.forward(saved.x);
    if (options_.recompute == Recompute::selective) {
      saved.norm2.norm = norm2_.forward(saved.norm2.sum);
      saved.mlp.after = ops::activate(saved.mlp.before, activation(options_.config));
    }
  }
  if (options_.recompute == Recompute::full) forward_from(saved.norm1, place, true, saved);
}

void TransformerBlock::forward_from(const NormOutput& norm1, const LayerPlace& place, bool drops,
                                    SavedBlock& saved) const {
  const auto x = saved.x;
  at::Tensor qkv;
  {
    const auto rows = options_.axis.gather(norm1.y).take();
    Profile::Scope scope(profile_, "QKV");
    qkv = ops::linear(rows, weight(qkv_.weight), weight(qkv_.bias));
  }
  {
    Profile::Scope scope(profile_, "attention");
    saved.attended =
        attention_->forward(qkv, head_norms(), attention_at(place, drops), saved.attention);
  }
  qkv.reset();
  const auto projected = apply_row(out_, saved.attended, "attention output");
  {
    Profile::Scope scope(profile_, kNorms);
    saved.norm2 = norm2_.forward({x, projected, dropout_at(1, place)}, drops);
  }
  const auto normed = options_.axis.gather(saved.norm2.norm.y).take();
  Profile::Scope scope(profile_, "MLP up");
  saved.mlp = ops::linear_activated(normed, weight(up_.weight), weight(up_.bias),
                                    activation(options_.config));
}

void TransformerBlock::add_weight_gradient(std::size_t parameter, const at::Tensor& dy,
                                           const at::Tensor& x, const Gradients& gradients) const {
  if (gradients.put_off) {
    gradients.put_off->push_back({parameter, dy, x});
    return;
  }
  ops::add_weight_gradient(gradient(parameter), dy, x, parameters_->is_first(parameter));
  gradients.tell(parameter);
}

// The function that computed dy may already have summed up the bias's gradient. With sequence
// parallelism the other ranks' rows are missing: the engine adds them.
at::Tensor TransformerBlock::row_gradients(const Linear& linear, const at::Tensor& dy,
                                           const at::Tensor& x, const char* item,
                                           const Gradients& gradients,
                                           bool has_bias_gradient) const {
  const auto rows = options_.axis.gather(dy).take();
  Profile::Scope scope(profile_, item);
  add_weight_gradient(linear.weight, rows, x, gradients);
  if (linear.bias && !has_bias_gradient) ops::add_bias_gradient(gradient(linear.bias), dy);
  if (linear.bias) gradients.tell(*linear.bias);
  return rows;
}

// Communication runs while the gradient of the weight is computed.
at::Tensor TransformerBlock::column_backward(const Linear& linear, const at::Tensor& dy,
                                             const at::Tensor& x, const char* item,
                                             const Gradients& gradients) const {
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
  if (linear.bias) gradients.tell(*linear.bias);
  return dx.take();
}

at::Tensor TransformerBlock::backward(const at::Tensor& dy, const LayerPlace& place,
                                      SavedBlock& saved, const Gradients& gradients) const {
  compute_again(place, saved);
  const auto dx2 = mlp_backward(dy, place, saved, gradients);
  const auto dx = attention_backward(dx2, place, saved, gradients);
  saved = {};
  return dx;
}

at::Tensor TransformerBlock::mlp_backward(const at::Tensor& dy, const LayerPlace& place,
                                          SavedBlock& saved, const Gradients& gradients) const {
  at::Tensor d;
  {
    Profile::Scope scope(profile_, kNorms);
    d = ops::dropout(dy, dropout_at(2, place));
  }
  d = row_gradients(down_, d, saved.mlp.after, "MLP down", gradients, false);
  saved.mlp.after.reset();
  {
    Profile::Scope scope(profile_, "MLP down");
    d = ops::linear_activated_backward(d, weight(down_.weight), saved.mlp.before,
                                       activation(options_.config), gradient(up_.bias));
  }
  const auto dh = column_backward(up_, d, saved.norm2.norm.y, "MLP up", gradients);
  Profile::Scope scope(profile_, kNorms);
  return norm2_.backward(dh, saved.norm2.sum, saved.norm2.norm, dy, gradients,
                         options_.dropout == 0 ? gradient(out_.bias) : at::Tensor());
}

at::Tensor TransformerBlock::attention_backward(const at::Tensor& dy, const LayerPlace& place,
                                                SavedBlock& saved,
                                                const Gradients& gradients) const {
  at::Tensor d;
  {
    Profile::Scope scope(profile_, kNorms);
    d = ops::dropout(dy, dropout_at(1, place));
  }
  d = row_gradients(out_, d, saved.attended, "attention output", gradients, options_.dropout == 0);
  {
    Profile::Scope scope(profile_, "attention output");
    d = ops::linear_backward(d, weight(out_.weight));
  }
  {
    Profile::Scope scope(profile_, "attention");
    d = attention_->backward(d, head_norms(), head_norm_gradients(), gradient(qkv_.bias),
                             attention_at(place, true), saved.attention);
  }
  for (const auto& norm : {q_norm_, k_norm_})
    if (norm) gradients.tell(*norm);
  const auto dh = column_backward(qkv_, d, saved.norm1.y, "QKV", gradients);
  Profile::Scope scope(profile_, kNorms);
  return norm1_.backward(dh, saved.x, saved.norm1, dy, gradients);
}

}  // namespace orch::train
