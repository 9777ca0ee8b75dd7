#include "tests/runtime/reference.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/generated/variable_factories.h>

#include <cmath>

#include "backends/runtime/model/stage.h"

namespace orch::train {

Reference::Reference(const plan::Model& config, const Parameters& parameters) : config_(config) {
  for (const auto& parameter : parameters)
    weights_[parameter.spec.name] = parameter.master.to(at::kFloat).clone().set_requires_grad(true);
}

at::Tensor Reference::attention(const at::Tensor& x, const std::string& name) const {
  const auto heads = config_.heads, dim = config_.head_dim(), seq = config_.seq;
  const auto qkv = at::linear(x, weight(name + ".qkv.weight"), weight(name + ".qkv.bias"))
                       .view({-1, seq, heads, 3, dim});
  const auto q = qkv.select(3, 0).transpose(1, 2), k = qkv.select(3, 1).transpose(1, 2),
             v = qkv.select(3, 2).transpose(1, 2);
  auto scores = at::matmul(q, k.transpose(-1, -2)) / std::sqrt(static_cast<double>(dim));
  if (config_.family == plan::Family::bloom) {
    // Minus slope times distance, head by head, as the ALiBi paper has it; heads a power of two.
    const auto distance = at::arange(seq).view({seq, 1}) - at::arange(seq).view({1, seq});
    std::vector<at::Tensor> biases;
    for (std::int64_t head = 1; head <= heads; ++head)
      biases.push_back(
          distance * -std::pow(2.0, -8.0 * static_cast<double>(head) / static_cast<double>(heads)));
    scores = scores + at::stack(biases);
  }
  const auto future = at::ones({seq, seq}, at::kBool).triu(1);
  const auto out = at::matmul(at::softmax(scores.masked_fill(future, -1e30), -1), v);
  return at::linear(out.transpose(1, 2).reshape({-1, seq, heads * dim}),
                    weight(name + ".out.weight"), weight(name + ".out.bias"));
}

at::Tensor Reference::block(const at::Tensor& x, std::int64_t layer) const {
  const auto name = "layers." + std::to_string(layer);
  const auto norm = [&](const at::Tensor& of, const char* which) {
    return at::layer_norm(of, {config_.hidden}, weight(name + which + ".weight"),
                          weight(name + which + ".bias"), 1e-5);
  };
  const auto y = x + dropped(attention(norm(x, ".norm1"), name + ".attention"), layer, 1);
  const auto up =
      at::linear(norm(y, ".norm2"), weight(name + ".mlp.up.weight"), weight(name + ".mlp.up.bias"));
  // GELU by its formula (Hendrycks & Gimpel 2016, tanh).
  const auto gelu =
      0.5 * up * (1 + at::tanh(std::sqrt(2 / M_PI) * (up + 0.044715 * at::pow(up, 3))));
  return y + dropped(at::linear(gelu, weight(name + ".mlp.down.weight"), weight(name + ".mlp.down.bias")),
                     layer, 2);
}

at::Tensor Reference::logits(const at::Tensor& tokens) const {
  auto x = weight("word_embedding.weight")
               .index_select(0, tokens)
               .view({-1, config_.seq, config_.hidden});
  if (config_.family == plan::Family::bloom)
    x = at::layer_norm(x, {config_.hidden}, weight("embedding_norm.weight"),
                       weight("embedding_norm.bias"), 1e-5);
  else
    x = dropped(x + weight("position_embedding.weight"), config_.layers, 3);
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) x = block(x, layer);
  x = at::layer_norm(x, {config_.hidden}, weight("final_norm.weight"), weight("final_norm.bias"),
                     1e-5);
  return at::linear(x, weight("word_embedding.weight")).view({-1, padded_vocab(config_)});
}

double Reference::loss(const at::Tensor& tokens, const at::Tensor& targets, double scale) {
  const auto loss = at::cross_entropy_loss(logits(tokens).narrow(1, 0, config_.vocab), targets);
  torch::autograd::backward({loss * scale}, {});
  return loss.item<double>();
}

Tokens some_tokens(const plan::Model& config, std::int64_t samples, std::int64_t seed) {
  const auto all = (at::arange(samples * config.seq + 1, at::kLong) * 7919 + seed * 104729)
                       .remainder(config.vocab);
  return {all.narrow(0, 0, samples * config.seq).clone(),
          all.narrow(0, 1, samples * config.seq).clone()};
}

}  // namespace orch::train
