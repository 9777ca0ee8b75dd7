#include "backends/runtime/model/stage.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <utility>

namespace orch::train {
namespace {

AttentionOptions attention_options(const ModelOptions& options) {
  AttentionOptions attention;
  attention.all_heads = options.config.heads;
  attention.heads = options.config.heads / options.axis.size();
  attention.first_head = options.axis.rank() * attention.heads;
  attention.head_dim = options.config.head_dim();
  attention.seq = options.config.seq;
  attention.alibi = options.is_bloom();
  attention.sdpa = options.sdpa;
  attention.keep_scores = options.recompute != Recompute::selective;
  return attention;
}

}  // namespace

std::vector<ParameterSpec> parameter_specs(const plan::Model& config, const Span& span,
                                           std::int64_t vocab) {
  const auto h = config.hidden;
  std::vector<ParameterSpec> specs;
  if (span.predicts) {
    specs.push_back({"final_norm.weight", {h}, -1, Init::ones, false});
    specs.push_back({"final_norm.bias", {h}, -1, Init::zeros, false});
  }
  for (auto layer = span.end; layer-- > span.first;) {
    const auto block = Block::specs(layer, h);
    specs.insert(specs.end(), block.begin(), block.end());
  }
  if (span.embeds && config.family == plan::Family::bloom) {
    specs.push_back({"embedding_norm.weight", {h}, -1, Init::ones, false});
    specs.push_back({"embedding_norm.bias", {h}, -1, Init::zeros, false});
  } else if (span.embeds) {
    specs.push_back({"position_embedding.weight", {config.seq, h}, -1, Init::normal, true});
  }
  if (span.embeds || span.predicts)
    specs.push_back({kWords, {vocab, h}, 0, Init::normal, true, vocab - config.vocab});
  return specs;
}

std::vector<ParameterSpec> parameter_specs(const plan::Model& config) {
  return parameter_specs(config, Span::whole(config), padded_vocab(config));
}

std::int64_t layer_of(const std::string& parameter, std::int64_t layers) {
  if (parameter.starts_with("layers.")) return std::stoll(parameter.substr(7));
  return parameter.starts_with("final_norm") ? layers : -1;
}

std::int64_t parameter_count(const plan::Model& config) {
  std::int64_t count = 0;
  for (const auto& parameter :
       lay_out(parameter_specs(config, Span::whole(config), config.vocab)).all)
    count += parameter.count;
  return count;
}

std::int64_t Stage::Saved::bytes() const {
  auto sum = embedded.bytes();
  for (const auto& block : blocks) sum += block.bytes();
  return sum;
}

Stage::Stage(const ModelOptions& options, const Span& span, Parameters& parameters,
             Profile* profile)
    : options_(options),
      span_(span),
      parameters_(&parameters),
      profile_(profile),
      attention_(attention_options(options), options.dtype, options.device) {
  if (span.embeds) embedding_.emplace(options, parameters, profile);
  for (auto layer = span.first; layer < span.end; ++layer)
    blocks_.emplace_back(
        BlockOptions{layer, options.config.hidden, options.dropout, options.attention_dropout,
                     options.recompute, static_cast<std::uint64_t>(options.seed), options.axis},
        parameters, attention_, profile);
  if (span.predicts) head_.emplace(options, parameters, profile, !span.embeds);
  if (options.inputs_on_host && options.recompute == Recompute::full)
    shelf_.emplace(options.device, blocks_.size());
}

Place Stage::place(const MicroBatch& batch) const {
  return {batch.step, batch.first_sample, options_.config.seq,
          options_.axis.first_row(batch.rows)};
}

void Stage::before(std::int64_t layer, Way way) const {
  if (options_.hooks.before) options_.hooks.before(layer, way);
}

void Stage::after(std::int64_t layer, Way way) const {
  if (options_.hooks.after) options_.hooks.after(layer, way);
}

Stream Stage::run(const MicroBatch& batch, const at::Tensor& input, Saved* saved) {
  Stream stream{input, {}, {}};
  if (embedding_) {
    before(-1, Way::forward);
    Embedding::Saved local;
    stream = embedding_->forward(batch, saved != nullptr, saved ? saved->embedded : local);
    after(-1, Way::forward);
  }
  if (saved) saved->blocks.resize(blocks_.size());
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const auto layer = span_.first + static_cast<std::int64_t>(i);
    before(layer, Way::forward);
    stream = blocks_[i].forward(stream, place(batch), saved ? &saved->blocks[i] : nullptr);
    if (saved && shelf_ && i + 1 < blocks_.size())  // the last one's is wanted next
      shelf_->put(i, std::exchange(saved->blocks[i].x, {}));
    after(layer, Way::forward);
  }
  if (!saved) stream.dropout = {};
  return stream;
}

// A stream that leaves the rank is one tensor.
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
    before(layers, Way::backward);
    auto [loss, gradient] = head_->backward(saved.last, batch, scale, gradients);
    result = {std::move(gradient), std::move(loss)};
    saved.last = {};
    after(layers, Way::backward);
  }
  for (auto i = blocks_.size(); i-- > 0;) {
    const auto layer = span_.first + static_cast<std::int64_t>(i);
    before(layer, Way::backward);
    if (shelf_) bring_back(i, saved);
    result.gradient = blocks_[i].backward(result.gradient, place(batch), saved.blocks[i], gradients);
    after(layer, Way::backward);
  }
  if (embedding_) {
    before(-1, Way::backward);
    embedding_->backward(std::move(result.gradient), batch, saved.embedded, gradients);
    result.gradient.reset();
    after(-1, Way::backward);
  }
  saved = {};
  return result;
}

// The next two are on their way meanwhile.
void Stage::bring_back(std::size_t block, Saved& saved) {
  if (block + 1 < blocks_.size()) saved.blocks[block].x = shelf_->take(block);
  for (std::size_t ahead = 1; ahead <= std::min<std::size_t>(2, block); ++ahead)
    shelf_->fetch(block - ahead);
}

at::Tensor Stage::evaluate(const MicroBatch& batch, const at::Tensor& input) {
  c10::NoGradGuard no_grad;
  const auto stream = run(batch, input, nullptr);
  if (!head_) return stream.sum();
  before(options_.config.layers, Way::forward);
  auto loss = head_->loss(stream, batch);
  after(options_.config.layers, Way::forward);
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
  Profile::Scope scope(profile_, "put-off weight gradients");
  for (auto& [parameter, dy, x] : products) {
    ops::add_weight_gradient((*parameters_)[parameter].gradient, dy, x);
    gradients.tell(parameter);
  }
  products.clear();
}

}  // namespace orch::train
