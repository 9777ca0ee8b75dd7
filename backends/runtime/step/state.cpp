#include "backends/runtime/step/state.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "backends/runtime/step/failure.h"

namespace orch::train {
namespace {

constexpr const char* kWords = "word_embedding.weight";

checkpoint::Dtype dtype_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return checkpoint::Dtype::f32;
    case at::kHalf:
      return checkpoint::Dtype::f16;
    case at::kBFloat16:
      return checkpoint::Dtype::bf16;
    case at::kDouble:
      return checkpoint::Dtype::f64;
    case at::kLong:
      return checkpoint::Dtype::i64;
    default:
      throw std::logic_error("a state of a type that checkpoints do not have");
  }
}

checkpoint::Piece piece_of(const StateTensor& state) {
  return checkpoint::Piece::whole(state.name, dtype_of(state.tensor), state.tensor.sizes().vec());
}

// States that have a row per word (the weight, both moments, Adafactor's row means) lose the
// padding.
at::Tensor without_padding(const at::Tensor& tensor, const Parameter& parameter,
                           std::int64_t vocab) {
  const bool by_word = parameter.spec.name == kWords && tensor.dim() > 0 &&
                       tensor.size(0) == parameter.spec.shape[0];
  return by_word ? tensor.narrow(0, 0, vocab) : tensor;
}

void save_range(const StateTensor& state, std::int64_t begin, std::int64_t end,
                checkpoint::Saved& saved) {
  if (begin == end) return;
  auto piece = piece_of(state);
  piece.begin = begin;
  piece.end = end;
  const auto part =
      state.tensor.contiguous().view({-1}).narrow(0, begin, end - begin).to(at::kCPU).contiguous();
  std::vector<std::byte> data(part.nbytes());
  std::memcpy(data.data(), part.data_ptr(), data.size());
  saved.pieces.push_back({std::move(piece), std::move(data)});
}

}  // namespace

std::vector<StateTensor> weight_state(Parameters& parameters, std::int64_t vocab) {
  std::vector<StateTensor> all;
  for (auto& parameter : parameters)
    all.push_back(
        {"weights/" + parameter.spec.name, without_padding(parameter.master, parameter, vocab)});
  return all;
}

std::vector<StateTensor> training_state(Parameters& parameters, Optimizer& optimizer,
                                        std::int64_t vocab) {
  auto all = weight_state(parameters, vocab);
  for (auto& state : optimizer.states()) {
    const auto& parameter = parameters[state.parameter];
    all.push_back(
        {state.kind + "/" + parameter.spec.name, without_padding(state.tensor, parameter, vocab)});
  }
  return all;
}

void save_share(const std::vector<StateTensor>& state, int rank, int ranks,
                checkpoint::Saved& saved) {
  std::int64_t all = 0;
  for (const auto& each : state) all += each.tensor.numel();
  const auto begin = all * rank / ranks, end = all * (rank + 1) / ranks;
  std::int64_t at = 0;  // of the tensor in the row
  for (const auto& each : state) {
    const auto count = each.tensor.numel();
    save_range(each, std::clamp<std::int64_t>(begin - at, 0, count),
               std::clamp<std::int64_t>(end - at, 0, count), saved);
    at += count;
  }
}

void save_whole(const StateTensor& state, checkpoint::Saved& saved) {
  save_range(state, 0, state.tensor.numel(), saved);
}

void load_state(const checkpoint::Reader& from, const std::vector<StateTensor>& state) {
  for (const auto& each : state) {
    auto host = at::empty(each.tensor.sizes(), each.tensor.options().device(at::kCPU));
    const std::span to(static_cast<std::byte*>(host.data_ptr()), host.nbytes());
    if (const auto status = from.read(piece_of(each), to); !status)
      throw Failed("data", text(status.error()));
    each.tensor.copy_(host);
  }
}

}  // namespace orch::train
