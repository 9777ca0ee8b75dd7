#include "backends/runtime/model/head.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace orch::train {
namespace {

// Shared logits have fp32 copies: see ops::row_statistics.
std::int64_t logits_copies(const ModelOptions& options) {
  if (options.axis.is_alone()) return 1;
  return options.dtype == at::kFloat ? 2 : 5;
}

std::int64_t rows_at_a_time(const ModelOptions& options, std::int64_t columns) {
  const std::int64_t bytes = options.device.is_cpu() ? 64 << 20 : 1 << 30;
  const auto row =
      columns * logits_copies(options) * static_cast<std::int64_t>(at::elementSize(options.dtype));
  return std::max<std::int64_t>(bytes / row / 128 * 128, 128);
}

}  // namespace

Head::Head(const ModelOptions& options, Parameters& parameters, Profile* profile, bool owns_words)
    : options_(options),
      parameters_(&parameters),
      profile_(profile),
      owns_words_(owns_words),
      word_(parameters.index(options.config.tied ? kWords : kHeadWords)),
      norm_(options.config, parameters, "final_norm") {}

AddedNormOutput Head::normed(const ResidualStream& stream, bool drops) const {
  Profile::Scope scope(profile_, "norms, dropout, GELU");
  return norm_.forward(stream, drops);
}

// The ranks of the axis exchange three numbers per row, once: the maximum of the logits, the sum of
// exponentials relative to it, and the target's logit from the rank that has it.
at::Tensor Head::cross_entropy(const at::Tensor& logits, const at::Tensor& targets,
                               double scale) const {
  const auto& axis = options_.axis;
  const auto vocab = options_.config.vocab;
  Profile::Scope scope(profile_, "cross entropy");
  if (axis.is_alone()) return ops::cross_entropy(logits, targets, vocab, scale);
  const auto& words = (*parameters_)[word_];
  const auto here = std::clamp<std::int64_t>(vocab - words.offsets[0], 0, words.shape[0]);
  const auto mine = targets - words.offsets[0];
  const auto all = axis.all_of(ops::row_statistics(logits, mine, here), "cross entropy all-reduce");
  return ops::cross_entropy_from(all, logits, mine, here, scale);
}

// x: all rows. With dx, also computes their gradient from this rank's vocabulary.
at::Tensor Head::losses(const at::Tensor& x, const MicroBatch& batch, double scale,
                        at::Tensor* dx) {
  const auto tokens = x.size(0),
             step = std::min(rows_at_a_time(options_, weight(word_).size(0)), tokens);
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
    logits_bytes_ = std::max(logits_bytes_,
                             logits_copies(options_) * static_cast<std::int64_t>(logits.nbytes()));
    all.push_back(cross_entropy(logits, batch.targets.narrow(0, first, rows), dx ? scale : 0));
    if (!dx) continue;
    Profile::Scope scope(profile_, "logits");
    ops::add_weight_gradient(gradient(word_), logits, part, parameters_->is_first(word_));
    dx->narrow(0, first, rows).copy_(ops::linear_backward(logits, weight(word_)));
  }
  return at::cat(all).mean();
}

Head::Result Head::backward(const ResidualStream& stream, const MicroBatch& batch, double scale,
                            const Gradients& gradients) {
  const auto normed = this->normed(stream, true);
  const auto x = options_.axis.gather(normed.norm.y).take();
  Result result;
  at::Tensor dx;
  result.loss = losses(x, batch, scale / static_cast<double>(x.size(0)), &dx);
  if (owns_words_) gradients.tell(word_);
  dx = options_.axis.reduce(dx).take();
  Profile::Scope scope(profile_, "norms, dropout, GELU");
  result.gradient = norm_.backward(dx, normed.sum, normed.norm, {}, gradients);
  return result;
}

at::Tensor Head::loss(const ResidualStream& stream, const MicroBatch& batch) {
  return losses(options_.axis.gather(normed(stream, false).norm.y).take(), batch, 0, nullptr);
}

at::Tensor Head::logits(const ResidualStream& stream) const {
  return ops::linear(normed(stream, false).norm.y, weight(word_), {})
      .narrow(1, 0, options_.config.vocab);
}

}  // namespace orch::train
