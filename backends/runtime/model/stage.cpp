#include "backends/runtime/model/stage.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <utility>

namespace orch::train {
namespace {

AttentionOptions attention_options(const ModelOptions& options) {
  const auto& config = options.config;
  const auto ranks = options.axis.size();
  require_equal_shares(config, ranks);
  AttentionOptions attention;
  attention.shape = {config.heads / ranks, config.kv_heads / ranks, config.head_dim, config.seq};
  attention.all_heads = config.heads;
  attention.first_head = options.axis.rank() * attention.shape.heads;
  attention.alibi = config.alibi;
  if (config.rope) attention.rotary = rotary(config);
  attention.sdpa = options.sdpa;
  attention.keep = options.recompute != Recompute::selective;
  return attention;
}

}  // namespace

std::vector<ParameterSpec> parameter_specs(const plan::Model& config, const LayerSpan& span,
                                           std::int64_t vocab) {
  require_parts(config);
  std::vector<ParameterSpec> specs;
  const auto add = [&](const std::vector<ParameterSpec>& more) {
    specs.insert(specs.end(), more.begin(), more.end());
  };
  const auto words = [&](const char* name) {
    specs.push_back(
        {name, {vocab, config.hidden}, 0, WeightInit::normal, true, vocab - config.vocab});
  };
  if (span.predicts && !config.tied) words(kHeadWords);
  if (span.predicts) add(Norm::specs(config, "final_norm"));
  for (auto layer = span.end; layer-- > span.first;) add(TransformerBlock::specs(config, layer));
  if (span.embeds && config.embedding_norm) add(Norm::specs(config, "embedding_norm"));
  if (span.embeds && config.learned_positions())
    specs.push_back(
        {"position_embedding.weight", {config.seq, config.hidden}, -1, WeightInit::normal, true});
  if (span.embeds || (span.predicts && config.tied)) {
    words(kWords);
    specs.back().is_tied = config.tied;
  }
  return specs;
}

std::vector<ParameterSpec> parameter_specs(const plan::Model& config) {
  return parameter_specs(config, LayerSpan::whole(config), padded_vocab(config));
}

std::int64_t layer_of(const std::string& parameter, std::int64_t layers) {
  if (parameter.starts_with("layers.")) return std::stoll(parameter.substr(7));
  return parameter.starts_with("final_norm") || parameter == kHeadWords ? layers : -1;
}

std::int64_t Stage::Saved::bytes() const {
  auto sum = embedded.bytes();
  for (const auto& block : blocks) sum += block.bytes();
  return sum;
}

Stage::Stage(const ModelOptions& options, const LayerSpan& span, Parameters& parameters,
             Profile* profile)
    : options_(options),
      span_(span),
      parameters_(&parameters),
      profile_(profile),
      attention_(attention_options(options), options.dtype, options.device) {
  if (span.embeds) embedding_.emplace(options, parameters, profile);
  for (auto layer = span.first; layer < span.end; ++layer)
    blocks_.emplace_back(options, layer, parameters, attention_, profile);
  if (span.predicts)
    head_.emplace(options, parameters, profile, !(span.embeds && options.config.tied));
  if (options.inputs_on_host && options.recompute == Recompute::full)
    shelf_.emplace(options.device, blocks_.size());
}

LayerPlace Stage::place(const MicroBatch& batch) const {
  return {batch.step, batch.first_sample, options_.config.seq, options_.axis.first_row(batch.rows)};
}

void Stage::before(std::int64_t layer, Direction way) const {
  if (options_.hooks.before) options_.hooks.before(layer, way);
}

void Stage::after(std::int64_t layer, Direction way) const {
  if (options_.hooks.after) options_.hooks.after(layer, way);
}

ResidualStream Stage::run(const MicroBatch& batch, const at::Tensor& input, Saved* saved) {
  ResidualStream stream{input, {}, {}};
  if (embedding_) {
    before(-1, Direction::forward);
    Embedding::Saved local;
    stream = embedding_->forward(batch, saved != nullptr, saved ? saved->embedded : local);
    after(-1, Direction::forward);
  }
  if (saved) saved->blocks.resize(blocks_.size());
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const auto layer = span_.first + static_cast<std::int64_t>(i);
    before(layer, Direction::forward);
    stream = blocks_[i].forward(stream, place(batch), saved ? &saved->blocks[i] : nullptr);
    if (saved && shelf_ && i + 1 < blocks_.size())  // the last one is needed next
      shelf_->put(i, std::exchange(saved->blocks[i].x, {}));
    after(layer, Direction::forward);
  }
  if (!saved) stream.dropout = {};
  return stream;
}

// A stream that leaves the rank is a single tensor.
at::Tensor Stage::forward(const MicroBatch& batch, const at::Tensor& input, Saved& saved) {
  c10::NoGradGuard no_grad;
  auto stream = run(batch, input, &saved);
  kept_ += saved.bytes();
  most_kept_ = std::max(most_kept_, kept_);
  if (head_) {
    saved.last = std::move(stream);
    return {};
  }
  return stream.sum();
}

Stage::Backward Stage::backward(const MicroBatch& batch, const at::Tensor& dy, double scale,
                                Saved& saved, const Gradients& gradients) {
  c10::NoGradGuard no_grad;
  kept_ -= saved.bytes();
  Backward result{dy, {}};
  const auto layers = options_.config.layers;
  if (head_) {
    before(layers, Direction::backward);
    auto [loss, gradient] = head_->backward(saved.last, batch, scale, gradients);
    result = {std::move(gradient), std::move(loss)};
    saved.last = {};
    after(layers, Direction::backward);
  }
  for (auto i = blocks_.size(); i-- > 0;) {
    const auto layer = span_.first + static_cast<std::int64_t>(i);
    before(layer, Direction::backward);
    if (shelf_) bring_back(i, saved);
    result.gradient =
        blocks_[i].backward(result.gradient, place(batch), saved.blocks[i], gradients);
    after(layer, Direction::backward);
  }
  if (embedding_) {
    before(-1, Direction::backward);
    embedding_->backward(std::move(result.gradient), batch, saved.embedded, gradients);
    result.gradient.reset();
    after(-1, Direction::backward);
  }
  saved = {};
  return result;
}

// Starts copying the next two meanwhile.
void Stage::bring_back(std::size_t block, Saved& saved) {
  if (block + 1 < blocks_.size()) saved.blocks[block].x = shelf_->take(block);
  for (std::size_t ahead = 1; ahead <= std::min<std::size_t>(2, block); ++ahead)
    shelf_->fetch(block - ahead);
}

at::Tensor Stage::evaluate(const MicroBatch& batch, const at::Tensor& input) {
  c10::NoGradGuard no_grad;
  const auto stream = run(batch, input, nullptr);
  if (!head_) return stream.sum();
  before(options_.config.layers, Direction::forward);
  auto loss = head_->loss(stream, batch);
  after(options_.config.layers, Direction::forward);
  return loss;
}

at::Tensor Stage::train(const MicroBatch& batch, double scale, const Ready& ready) {
  Saved saved;
  forward(batch, {}, saved);
  return backward(batch, {}, scale, saved, {ready}).loss;
}

at::Tensor Stage::logits(const MicroBatch& batch) {
  c10::NoGradGuard no_grad;
  return head_->logits(run(batch, {}, nullptr));
}

void Stage::add_put_off(std::vector<WeightProduct>& products, const Gradients& gradients) {
  c10::NoGradGuard no_grad;
  Profile::Scope scope(profile_, "deferred weight gradients");
  for (auto& [parameter, dy, x] : products) {
    ops::add_weight_gradient((*parameters_)[parameter].gradient, dy, x,
                             parameters_->is_first(parameter));
    gradients.tell(parameter);
  }
  products.clear();
}

}  // namespace orch::train
