#include "tests/runtime/reference.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/generated/variable_factories.h>

#include <cmath>

#include "backends/runtime/model/stage.h"
#include "core/plan/family.h"

namespace orch::train {

Reference::Reference(const plan::Model& config, const Parameters& parameters) : config_(config) {
  for (const auto& parameter : parameters)
    weights_[parameter.spec.name] = parameter.master.to(at::kFloat).clone().set_requires_grad(true);
}

at::Tensor Reference::norm(const at::Tensor& x, const std::string& name) const {
  if (!config_.rms_norm)
    return at::layer_norm(x, {config_.hidden}, weight(name + ".weight"), weight(name + ".bias"),
                          config_.norm_epsilon);
  return x / at::sqrt(at::mean(at::pow(x, 2), {-1}, true) + config_.norm_epsilon) *
         weight(name + ".weight");
}

at::Tensor Reference::linear(const at::Tensor& x, const std::string& name) const {
  const auto bias = weights_.find(name + ".bias");
  return bias == weights_.end() ? at::linear(x, weight(name + ".weight"))
                                : at::linear(x, weight(name + ".weight"), bias->second);
}

// x: [samples, heads, seq, dim]. Each pair is a complex number, multiplied by one of length 1.
at::Tensor Reference::rotated(const at::Tensor& x) const {
  const auto dim = config_.head_dim;
  auto frequencies = at::pow(config_.rope_theta, -at::arange(0, dim, 2, at::kDouble) / dim);
  if (config_.rope_factor != 1) {  // by wavelengths, as in Llama 3.1's own code
    const auto wavelengths = 2 * M_PI / frequencies;
    const auto context = static_cast<double>(config_.rope_original);
    const auto smooth =
        (context / wavelengths - config_.rope_low) / (config_.rope_high - config_.rope_low);
    const auto between = (1 - smooth) * frequencies / config_.rope_factor + smooth * frequencies;
    frequencies = at::where(wavelengths < context / config_.rope_high, frequencies,
                            at::where(wavelengths > context / config_.rope_low,
                                      frequencies / config_.rope_factor, between));
  }
  const auto angles = at::arange(config_.seq, at::kDouble).view({-1, 1}) * frequencies;
  const auto turns = at::polar(at::ones_like(angles), angles).to(at::kComplexFloat);
  const auto halves = at::chunk(x, 2, -1);
  const auto out = at::view_as_complex(at::stack({halves[0], halves[1]}, -1)) * turns;
  return at::cat({at::real(out), at::imag(out)}, -1);
}

at::Tensor Reference::attention(const at::Tensor& x, const std::string& name) const {
  const auto heads = config_.heads, kv = config_.kv_heads, dim = config_.head_dim,
             seq = config_.seq;
  const auto group = heads / kv;
  const auto qkv = linear(x, name + ".qkv").view({-1, seq, kv, group + 2, dim});
  auto q = qkv.narrow(3, 0, group).reshape({-1, seq, heads, dim}).transpose(1, 2),
       k = qkv.select(3, group).transpose(1, 2), v = qkv.select(3, group + 1).transpose(1, 2);
  if (config_.qk_norm) {
    q = norm(q, name + ".q_norm");
    k = norm(k, name + ".k_norm");
  }
  if (config_.rope) {
    q = rotated(q);
    k = rotated(k);
  }
  k = at::repeat_interleave(k, group, 1);
  v = at::repeat_interleave(v, group, 1);
  auto scores = at::matmul(q, k.transpose(-1, -2)) / std::sqrt(static_cast<double>(dim));
  if (config_.alibi) {
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
  return linear(out.transpose(1, 2).reshape({-1, seq, heads * dim}), name + ".out");
}

at::Tensor Reference::mlp(const at::Tensor& x, const std::string& name) const {
  const auto up = linear(x, name + ".up");
  if (!config_.swiglu)  // by its formula (Hendrycks & Gimpel 2016, tanh)
    return linear(0.5 * up * (1 + at::tanh(std::sqrt(2 / M_PI) * (up + 0.044715 * at::pow(up, 3)))),
                  name + ".down");
  const auto gate = at::slice(up, -1, 0, up.size(-1), 2),
             factor = at::slice(up, -1, 1, up.size(-1), 2);
  return linear(gate / (1 + at::exp(-gate)) * factor, name + ".down");
}

at::Tensor Reference::block(const at::Tensor& x, std::int64_t layer) const {
  const auto name = "layers." + std::to_string(layer);
  const auto y = x + dropped(attention(norm(x, name + ".norm1"), name + ".attention"), layer, 1);
  return y + dropped(mlp(norm(y, name + ".norm2"), name + ".mlp"), layer, 2);
}

at::Tensor Reference::logits(const at::Tensor& tokens) const {
  auto x = weight("word_embedding.weight")
               .index_select(0, tokens)
               .view({-1, config_.seq, config_.hidden});
  if (config_.learned_positions()) x = x + weight("position_embedding.weight");
  x = config_.embedding_norm ? norm(x, "embedding_norm") : dropped(x, config_.layers, 3);
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) x = block(x, layer);
  const auto& words = weight(config_.tied ? "word_embedding.weight" : "head.weight");
  return at::linear(norm(x, "final_norm"), words).view({-1, words.size(0)});
}

double Reference::loss(const at::Tensor& tokens, const at::Tensor& targets, double scale) {
  const auto loss = at::cross_entropy_loss(logits(tokens).narrow(1, 0, config_.vocab), targets);
  torch::autograd::backward({loss * scale}, {});
  return loss.item<double>();
}

plan::Model some_llama() {
  auto llama = plan::sized("llama", "", 2, 32, 4, 100, 16);
  llama.kv_heads = 2;
  llama.head_dim = 12;
  llama.ffn_hidden = 40;
  llama.norm_epsilon = 1e-6;
  return llama;
}

ReferenceTokens some_tokens(const plan::Model& config, std::int64_t samples, std::int64_t seed) {
  const auto all = (at::arange(samples * config.seq + 1, at::kLong) * 7919 + seed * 104729)
                       .remainder(config.vocab);
  return {all.narrow(0, 0, samples * config.seq).clone(),
          all.narrow(0, 1, samples * config.seq).clone()};
}

}  // namespace orch::train
