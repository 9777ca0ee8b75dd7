#include "backends/runtime/model/model.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>

namespace orch::train {
namespace {

constexpr int kEmbeddingSite = 3;  // of dropout; blocks have 0 to 2

// Logits of so many tokens are computed at a time: all of them would be the largest tensor of most
// models. Forward and backward of the head need them once, together.
std::int64_t rows_at_a_time(const ModelOptions& options) {
  const std::int64_t bytes = options.device.is_cpu() ? 64 << 20 : 1 << 30;
  const auto row =
      padded_vocab(options.config) * static_cast<std::int64_t>(at::elementSize(options.dtype));
  return std::max<std::int64_t>(bytes / row / 128 * 128, 128);
}

AttentionOptions attention_options(const ModelOptions& options) {
  AttentionOptions attention;
  attention.heads = options.config.heads;
  attention.head_dim = options.config.head_dim();
  attention.seq = options.config.seq;
  attention.alibi = options.config.family == plan::Family::bloom;
  attention.sdpa = options.sdpa;
  attention.keep_scores = options.recompute != Recompute::selective;
  return attention;
}

}  // namespace

std::vector<ParameterSpec> parameter_specs(const plan::Model& config) {
  const auto h = config.hidden;
  std::vector<ParameterSpec> specs = {{"final_norm.weight", {h}, -1, Init::ones, false},
                                      {"final_norm.bias", {h}, -1, Init::zeros, false}};
  for (auto layer = config.layers; layer-- > 0;) {
    const auto block = Block::specs(layer, h);
    specs.insert(specs.end(), block.begin(), block.end());
  }
  if (config.family == plan::Family::bloom) {
    specs.push_back({"embedding_norm.weight", {h}, -1, Init::ones, false});
    specs.push_back({"embedding_norm.bias", {h}, -1, Init::zeros, false});
  } else {
    specs.push_back({"position_embedding.weight", {config.seq, h}, -1, Init::normal, true});
  }
  specs.push_back({"word_embedding.weight", {padded_vocab(config), h}, 0, Init::normal, true});
  return specs;
}

std::int64_t Model::Embedded::bytes() const {
  return norm.y.defined() ? static_cast<std::int64_t>(sum.nbytes()) : 0;
}

Model::Model(const ModelOptions& options, Parameters& parameters, Profile* profile)
    : options_(options),
      parameters_(&parameters),
      profile_(profile),
      attention_(attention_options(options), options.dtype, options.device) {
  for (std::int64_t layer = 0; layer < options.config.layers; ++layer)
    blocks_.emplace_back(
        BlockOptions{layer, options.config.hidden, options.dropout, options.attention_dropout,
                     options.recompute, static_cast<std::uint64_t>(options.seed)},
        parameters, attention_, profile);
  word_ = parameters.index("word_embedding.weight");
  last_weight_ = parameters.index("final_norm.weight");
  last_bias_ = parameters.index("final_norm.bias");
  if (options.config.family == plan::Family::bloom) {
    embedding_weight_ = parameters.index("embedding_norm.weight");
    embedding_bias_ = parameters.index("embedding_norm.bias");
  } else {
    position_ = parameters.index("position_embedding.weight");
  }
}

Place Model::place(const MicroBatch& batch) const {
  return {batch.step, batch.first_sample, options_.config.seq};
}

Dropout Model::embedding_dropout(const MicroBatch& batch, bool drops) const {
  return {drops ? options_.dropout : 0,
          dropout_key(static_cast<std::uint64_t>(options_.seed), batch.step, options_.config.layers,
                      kEmbeddingSite),
          batch.first_sample * options_.config.seq * options_.config.hidden};
}

Stream Model::embed(const MicroBatch& batch, bool drops, Embedded& saved) {
  Profile::Scope scope(profile_, "embedding");
  auto x = at::embedding(weight(word_), batch.tokens);
  if (options_.config.family == plan::Family::bloom) {  // it drops nothing here
    saved.sum = x;
    saved.norm = ops::layer_norm(x, weight(embedding_weight_), weight(embedding_bias_));
    return {saved.norm.y, {}, {}};
  }
  x.view({-1, options_.config.seq, options_.config.hidden}).add_(weight(position_));
  return {ops::dropout(x, embedding_dropout(batch, drops)), {}, {}};
}

void Model::embed_backward(at::Tensor dy, const MicroBatch& batch, const Embedded& saved,
                           const Ready& ready) {
  Profile::Scope scope(profile_, "embedding");
  const auto done = [&](std::size_t parameter) {
    if (ready) ready(parameter);
  };
  if (options_.config.family == plan::Family::bloom) {
    dy = ops::layer_norm_backward(dy, saved.sum, saved.norm, weight(embedding_weight_),
                                  gradient(embedding_weight_), gradient(embedding_bias_), {});
    done(embedding_weight_);
    done(embedding_bias_);
  } else {
    dy = ops::dropout(dy, embedding_dropout(batch, true));
    const auto by_sample = dy.view({-1, options_.config.seq, options_.config.hidden});
    gradient(position_).add_(at::sum(by_sample, {0}, false, at::kFloat));
    done(position_);
  }
  ops::add_embedding_gradient(gradient(word_), dy, batch.tokens);
  done(word_);
}

AddedNorm Model::last_norm(const Stream& stream, bool drops) {
  Profile::Scope scope(profile_, "norms, dropout, GELU");
  if (!stream.pending.defined())
    return {stream.residual,
            ops::layer_norm(stream.residual, weight(last_weight_), weight(last_bias_))};
  return ops::add_layer_norm(stream.pending, stream.residual, weight(last_weight_),
                             weight(last_bias_), drops ? stream.dropout : Dropout());
}

at::Tensor Model::losses(const at::Tensor& x, const MicroBatch& batch, double scale,
                         at::Tensor* dx) {
  const auto tokens = x.size(0), step = std::min(rows_at_a_time(options_), tokens);
  if (dx) *dx = at::empty_like(x);
  std::vector<at::Tensor> all;
  for (std::int64_t first = 0; first < tokens; first += step) {
    const auto rows = std::min(step, tokens - first);
    const auto part = x.narrow(0, first, rows);
    at::Tensor logits;
    {
      Profile::Scope scope(profile_, "logits");
      logits = ops::linear(part, weight(word_), {});
    }
    logits_bytes_ = std::max(logits_bytes_, static_cast<std::int64_t>(logits.nbytes()));
    {
      Profile::Scope scope(profile_, "cross entropy");
      all.push_back(ops::cross_entropy(logits, batch.targets.narrow(0, first, rows),
                                       options_.config.vocab, dx ? scale : 0));
    }
    if (!dx) continue;
    Profile::Scope scope(profile_, "logits");
    ops::add_weight_gradient(gradient(word_), logits, part);
    dx->narrow(0, first, rows).copy_(ops::linear_backward(logits, weight(word_)));
  }
  return at::cat(all).mean();
}

Model::Head Model::head(const Stream& stream, const MicroBatch& batch, double scale,
                        const Ready& ready) {
  const auto normed = last_norm(stream, true);
  Head result;
  at::Tensor dx;
  const auto tokens = static_cast<double>(normed.sum.size(0));
  result.loss = losses(normed.norm.y, batch, scale / tokens, &dx);
  Profile::Scope scope(profile_, "norms, dropout, GELU");
  result.gradient = ops::layer_norm_backward(dx, normed.sum, normed.norm, weight(last_weight_),
                                             gradient(last_weight_), gradient(last_bias_), {});
  if (ready) {
    ready(last_weight_);
    ready(last_bias_);
  }
  return result;
}

at::Tensor Model::train(const MicroBatch& batch, double gradient_scale, const Ready& ready) {
  c10::NoGradGuard no_grad;
  Embedded embedded;
  std::vector<BlockSaved> saved(blocks_.size());
  auto stream = embed(batch, true, embedded);
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    stream = blocks_[i].forward(stream, place(batch), &saved[i]);
  auto bytes = embedded.bytes();
  for (const auto& block : saved) bytes += block.bytes();
  activation_bytes_ = std::max(activation_bytes_, bytes);
  auto [loss, dy] = head(stream, batch, gradient_scale, ready);
  stream = {};
  for (auto i = blocks_.size(); i-- > 0;)
    dy = blocks_[i].backward(dy, place(batch), saved[i], ready);
  embed_backward(dy, batch, embedded, ready);
  return loss;
}

at::Tensor Model::evaluate(const MicroBatch& batch) {
  c10::NoGradGuard no_grad;
  Embedded embedded;
  auto stream = embed(batch, false, embedded);
  for (const auto& block : blocks_) stream = block.forward(stream, place(batch), nullptr);
  return losses(last_norm(stream, false).norm.y, batch, 0, nullptr);
}

at::Tensor Model::logits(const MicroBatch& batch) {
  c10::NoGradGuard no_grad;
  Embedded embedded;
  auto stream = embed(batch, false, embedded);
  for (const auto& block : blocks_) stream = block.forward(stream, place(batch), nullptr);
  return ops::linear(last_norm(stream, false).norm.y, weight(word_), {})
      .narrow(1, 0, options_.config.vocab);
}

}  // namespace orch::train
