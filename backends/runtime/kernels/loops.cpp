#include "backends/runtime/kernels/loops.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "backends/runtime/kernels/random.h"

namespace orch::train::loops {
namespace {

template <class T>
void drop(const at::Tensor& from, const at::Tensor& to, const Dropout& dropout) {
  const auto* x = from.data_ptr<T>();
  auto* y = to.data_ptr<T>();
  const auto keep = static_cast<float>(1 / (1 - dropout.probability));
  const auto probability = static_cast<float>(dropout.probability);
  at::parallel_for(0, from.numel(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      const bool kept =
          uniform(dropout.key, static_cast<std::uint64_t>(dropout.first + i)) >= probability;
      y[i] = kept ? static_cast<T>(static_cast<float>(x[i]) * keep) : static_cast<T>(0.0f);
    }
  });
}

template <class T>
void draw(const at::Tensor& to, float std, const DropoutMask& drawn) {
  auto* y = to.data_ptr<T>();
  at::parallel_for(0, to.numel(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i)
      y[i] = static_cast<T>(std * normal(drawn.key, place_of(drawn, i)));
  });
}

// The loss of one row; replaces the logits by their gradient. fp32 throughout.
template <class T>
float row_cross_entropy(T* logits, std::int64_t columns, std::int64_t vocab, std::int64_t target,
                        float scale) {
  float highest = -INFINITY;
  for (std::int64_t j = 0; j < vocab; ++j)
    highest = std::max(highest, static_cast<float>(logits[j]));
  float sum = 0;
  for (std::int64_t j = 0; j < vocab; ++j) sum += std::exp(static_cast<float>(logits[j]) - highest);
  const float loss = std::log(sum) + (highest - static_cast<float>(logits[target]));
  if (scale == 0) return loss;
  const float factor = scale / sum;
  for (std::int64_t j = 0; j < vocab; ++j)
    logits[j] = static_cast<T>(std::exp(static_cast<float>(logits[j]) - highest) * factor -
                               (j == target ? scale : 0.0f));
  for (std::int64_t j = vocab; j < columns; ++j) logits[j] = static_cast<T>(0.0f);
  return loss;
}

template <class T>
void cross_entropy_rows(const at::Tensor& logits, const at::Tensor& targets, std::int64_t vocab,
                        double scale, const at::Tensor& losses) {
  const auto columns = logits.size(1);
  auto* values = logits.data_ptr<T>();
  const auto* target = targets.data_ptr<std::int64_t>();
  auto* loss = losses.data_ptr<float>();
  at::parallel_for(0, logits.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i)
      loss[i] = row_cross_entropy(values + i * columns, columns, vocab, target[i],
                                  static_cast<float>(scale));
  });
}

}  // namespace

void fill_normal(const at::Tensor& to, double std, const DropoutMask& drawn) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, to.scalar_type(), "fill_normal",
                                  [&] { draw<scalar_t>(to, static_cast<float>(std), drawn); });
}

void dropout(const at::Tensor& from, const at::Tensor& to, const Dropout& dropped) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, from.scalar_type(), "dropout",
                                  [&] { drop<scalar_t>(from, to, dropped); });
}

void cross_entropy(const at::Tensor& logits, const at::Tensor& targets, std::int64_t vocab,
                   double scale, const at::Tensor& losses) {
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, logits.scalar_type(), "cross_entropy",
      [&] { cross_entropy_rows<scalar_t>(logits, targets, vocab, scale, losses); });
}

}  // namespace orch::train::loops
