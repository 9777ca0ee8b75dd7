#include <algorithm>
#include <utility>

#include "core/train/huggingface/architecture.h"

namespace orch::huggingface {
namespace {

// In square blocks that fit the cache.
std::vector<float> transpose(const std::vector<float>& from, std::int64_t rows,
                             std::int64_t columns) {
  constexpr std::int64_t kSquare = 32;
  std::vector<float> to(from.size());
  for (std::int64_t r0 = 0; r0 < rows; r0 += kSquare)
    for (std::int64_t c0 = 0; c0 < columns; c0 += kSquare)
      for (auto r = r0; r < std::min(r0 + kSquare, rows); ++r)
        for (auto c = c0; c < std::min(c0 + kSquare, columns); ++c)
          to[static_cast<std::size_t>(c * rows + r)] =
              from[static_cast<std::size_t>(r * columns + c)];
  return to;
}

// The permutation of blocks of rows: our block for the n-th of the other side.
struct TensorOrder {
  std::int64_t block = 1;  // rows per block
  std::vector<std::int64_t> ours;
};

TensorOrder order_of(const Tensor& tensor, const plan::Model& model) {
  TensorOrder order;
  if (tensor.rows == RowOrder::pairs) {
    for (std::int64_t half = 0; half < 2; ++half)
      for (std::int64_t i = half; i < tensor.shape[0]; i += 2) order.ours.push_back(i);
    return order;
  }
  order.block = model.head_dim;
  const auto queries = model.heads / model.kv_heads, unit = queries + 2;
  for (std::int64_t head = 0; head < model.heads; ++head)
    order.ours.push_back(head / queries * unit + head % queries);
  for (std::int64_t part = 0; part < 2; ++part)
    for (std::int64_t group = 0; group < model.kv_heads; ++group)
      order.ours.push_back(group * unit + queries + part);
  return order;
}

enum class CopyDirection { to_theirs, to_ours };

std::vector<float> reorder(std::vector<float> from, const Tensor& tensor, const plan::Model& model,
                           CopyDirection way) {
  if (tensor.rows == RowOrder::same) return from;
  const auto order = order_of(tensor, model);
  std::vector<float> to(from.size());
  const auto block = order.block * tensor.width();
  for (std::size_t i = 0; i < order.ours.size(); ++i) {
    const auto ours = order.ours[i] * block, theirs = static_cast<std::int64_t>(i) * block;
    const bool out = way == CopyDirection::to_theirs;
    std::copy_n(from.begin() + (out ? ours : theirs), block, to.begin() + (out ? theirs : ours));
  }
  return to;
}

}  // namespace

std::vector<std::int64_t> their_shape(const Tensor& tensor, const SourceTensor& their) {
  auto shape = tensor.shape;
  shape[0] = their.rows;
  if (tensor.transposed) std::swap(shape[0], shape[1]);
  return shape;
}

std::vector<float> to_theirs(const Tensor& tensor, const plan::Model& model,
                             std::vector<float> ours) {
  ours = reorder(std::move(ours), tensor, model, CopyDirection::to_theirs);
  return tensor.transposed ? transpose(ours, tensor.shape[0], tensor.shape[1]) : ours;
}

std::vector<float> to_ours(const Tensor& tensor, const plan::Model& model,
                           std::vector<float> theirs) {
  if (tensor.transposed) theirs = transpose(theirs, tensor.shape[1], tensor.shape[0]);
  return reorder(std::move(theirs), tensor, model, CopyDirection::to_ours);
}

void TensorList::add(const std::string& ours, const std::string& theirs,
                     std::vector<std::int64_t> shape) {
  const auto rows = shape[0];
  tensors_.push_back({ours, std::move(shape), {{theirs, rows}}});
}

void TensorList::norm(const std::string& ours, const std::string& theirs, bool has_bias) {
  add(ours + ".weight", theirs + ".weight", {hidden_});
  if (has_bias) add(ours + ".bias", theirs + ".bias", {hidden_});
}

void TensorList::linear(const std::string& ours, std::vector<SourceTensor> theirs, std::int64_t in,
                        bool has_bias, RowOrder rows) {
  std::int64_t out = 0;
  for (const auto& their : theirs) out += their.rows;
  const auto named = [&](const char* what) {
    auto names = theirs;
    for (auto& name : names) name.name += what;
    return names;
  };
  tensors_.push_back({ours + ".weight", {out, in}, named(".weight"), rows, transposes_});
  if (has_bias) tensors_.push_back({ours + ".bias", {out}, named(".bias"), rows, false});
}

}  // namespace orch::huggingface
