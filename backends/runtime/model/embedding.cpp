#include "backends/runtime/model/embedding.h"

#include <ATen/ATen.h>

namespace orch::train {
namespace {

constexpr int kSite = 3;  // number of this dropout; blocks have 0 to 2

// Tokens as rows of a rank's part of the vocabulary, and which of them are elsewhere.
struct VocabularySlice {
  at::Tensor tokens;
  at::Tensor others;
};

VocabularySlice owned(const at::Tensor& tokens, const Parameter& words) {
  const auto first = words.offsets[0], count = words.shape[0];
  const auto here = tokens - first;
  const auto others = here.lt(0).logical_or_(here.ge(count));
  return {here.masked_fill(others, 0), others};
}

}  // namespace

std::int64_t Embedding::Saved::bytes() const {
  return norm.y.defined() ? static_cast<std::int64_t>(sum.nbytes()) : 0;
}

Embedding::Embedding(const ModelOptions& options, Parameters& parameters, Profile* profile)
    : options_(options),
      parameters_(&parameters),
      profile_(profile),
      word_(parameters.index(kWords)) {
  if (options.config.embedding_norm) norm_.emplace(options.config, parameters, "embedding_norm");
  if (options.config.learned_positions()) position_ = parameters.index("position_embedding.weight");
}

Dropout Embedding::dropout_of(const MicroBatch& batch, bool drops) const {
  const auto& config = options_.config;
  const auto first_row = options_.axis.first_row(batch.rows);
  return {drops ? options_.dropout : 0,
          dropout_key(options_.seed, batch.step, config.layers, kSite),
          (batch.first_sample * config.seq + first_row) * config.hidden};
}

// Each token's row is on exactly one rank, so the sum is exact. Other rows are set to zero, not
// multiplied by it: a NaN would stay.
at::Tensor Embedding::look_up(const MicroBatch& batch) const {
  const auto& axis = options_.axis;
  if (axis.is_alone()) return at::embedding(weight(word_), batch.tokens);
  const auto [tokens, others] = owned(batch.tokens, (*parameters_)[word_]);
  const auto partial = at::embedding(weight(word_), tokens);
  partial.masked_fill_(others.unsqueeze(1), 0);
  return axis.reduce(partial).take();
}

// The positions of this rank's rows.
at::Tensor Embedding::positions(std::int64_t rows, std::int64_t all) const {
  const auto first = options_.axis.first_row(all);
  return at::arange(first, first + rows,
                    at::TensorOptions().dtype(at::kLong).device(options_.device))
      .remainder_(options_.config.seq);
}

ResidualStream Embedding::forward(const MicroBatch& batch, bool drops, Saved& saved) const {
  Profile::Scope scope(profile_, "embedding");
  auto x = look_up(batch);
  if (position_ && options_.axis.shares_rows())
    x.add_(weight(*position_).index_select(0, positions(x.size(0), batch.rows)));
  else if (position_)
    x.view({-1, options_.config.seq, options_.config.hidden}).add_(weight(*position_));
  if (norm_) {
    saved.sum = x;
    saved.norm = norm_->forward(x);
    return {saved.norm.y, {}, {}};
  }
  return {ops::dropout(x, dropout_of(batch, drops)), {}, {}};
}

void Embedding::add_positions_gradient(const at::Tensor& dy, std::int64_t all) const {
  if (parameters_->is_first(*position_)) gradient(*position_).zero_();
  if (options_.axis.shares_rows()) {
    ops::add_embedding_gradient(gradient(*position_), dy, positions(dy.size(0), all));
    return;
  }
  const auto by_sample = dy.view({-1, options_.config.seq, options_.config.hidden});
  gradient(*position_).add_(at::sum(by_sample, {0}, false, at::kFloat));
}

void Embedding::backward(at::Tensor dy, const MicroBatch& batch, const Saved& saved,
                         const Gradients& gradients) const {
  Profile::Scope scope(profile_, "embedding");
  dy = norm_ ? norm_->backward(dy, saved.sum, saved.norm, {}, gradients)
             : ops::dropout(dy, dropout_of(batch, true));
  if (position_) {
    add_positions_gradient(dy, batch.rows);
    gradients.tell(*position_);
  }
  if (parameters_->is_first(word_)) gradient(word_).zero_();
  if (options_.axis.is_alone()) {
    ops::add_embedding_gradient(gradient(word_), dy, batch.tokens);
  } else {
    const auto [tokens, others] = owned(batch.tokens, (*parameters_)[word_]);
    const auto rows = options_.axis.gather(dy).take();
    ops::add_embedding_gradient(gradient(word_), rows.masked_fill(others.unsqueeze(1), 0), tokens);
  }
  gradients.tell(word_);
}

}  // namespace orch::train
