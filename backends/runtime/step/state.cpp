#include "backends/runtime/step/state.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <span>

#include "backends/runtime/host/failure.h"
#include "backends/runtime/host/memory.h"

namespace orch::train {
namespace {

checkpoint::TensorDtype dtype_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return checkpoint::TensorDtype::f32;
    case at::kHalf:
      return checkpoint::TensorDtype::f16;
    case at::kBFloat16:
      return checkpoint::TensorDtype::bf16;
    case at::kDouble:
      return checkpoint::TensorDtype::f64;
    case at::kLong:
      return checkpoint::TensorDtype::i64;
    default:
      throw std::logic_error("a state of a type that checkpoints do not support");
  }
}

// The rank's box of a parameter, without the padding of the vocabulary.
checkpoint::TensorPiece box_of(const std::string& kind, const Parameter& parameter,
                               std::int64_t vocab) {
  checkpoint::TensorPiece box;
  box.name = kind + "/" + parameter.spec.name;
  box.shape = parameter.spec.shape;
  box.offsets = parameter.offsets;
  box.sizes = parameter.shape;
  if (parameter.spec.padding > 0) {
    box.shape[0] = vocab;
    box.sizes[0] = std::clamp<std::int64_t>(vocab - box.offsets[0], 0, box.sizes[0]);
    box.offsets[0] = std::min(box.offsets[0], vocab);
  }
  box.end = 1;
  for (const auto size : box.sizes) box.end *= size;
  return box;
}

// Adds elements of the rank's slice, beginning at `begin`. Padding is behind all rows, so the
// remaining elements come first.
void add_elements(const std::string& kind, const Parameters& parameters, std::size_t index,
                  std::int64_t begin, const at::Tensor& tensor, std::int64_t vocab,
                  std::vector<StateTensor>& to) {
  auto piece = box_of(kind, parameters[index], vocab);
  piece.begin = begin;
  piece.end = std::min(begin + tensor.numel(), piece.end);
  if (piece.begin >= piece.end) return;
  piece.dtype = dtype_of(tensor);
  to.push_back({piece, tensor.view({-1}).narrow(0, 0, piece.end - piece.begin), index});
}

// Without a copy if the tensor is in host memory.
checkpoint::SharedBytes shared_bytes(const at::Tensor& tensor) {
  auto host = std::make_shared<const at::Tensor>(tensor.to(at::kCPU));
  return {{static_cast<const std::byte*>(host->data_ptr()), host->nbytes()}, std::move(host)};
}

// Training waits for this copy. Most of its time is the system's work on new pages, which the
// pool's threads share; those of a vector are touched by one thread.
at::Tensor copied(const at::Tensor& tensor) {
  const auto copy = host_zeros(tensor.numel(), tensor.scalar_type());
  copy.copy_(tensor);
  return copy;
}

// Elements that the writer copies at a time: besides states in host memory there may be no room for
// more.
constexpr std::int64_t kMostRead = 64 << 20;
constexpr std::size_t kSmall = 64 << 10;  // bytes; smaller copies need no pages of their own

void save_range(const StateTensor& state, std::int64_t begin, std::int64_t end,
                checkpoint::SavedState& saved) {
  if (begin == end) return;
  if (saved.reads && end - begin > kMostRead) {
    save_range(state, begin, begin + kMostRead, saved);
    return save_range(state, begin + kMostRead, end, saved);
  }
  auto piece = state.piece;
  piece.begin += begin;
  piece.end = piece.begin + end - begin;
  auto part = state.tensor.contiguous().view({-1}).narrow(0, begin, end - begin);
  if (!saved.reads) part = part.nbytes() > kSmall ? copied(part) : part.to(at::kCPU).clone();
  saved.pieces.push_back({std::move(piece), {}, [part] { return shared_bytes(part); }});
}

}  // namespace

StateTensor whole_state(std::string name, const at::Tensor& tensor) {
  return {checkpoint::TensorPiece::whole(std::move(name), dtype_of(tensor), tensor.sizes().vec()),
          tensor};
}

std::vector<StateTensor> weight_state(Parameters& parameters, std::int64_t vocab) {
  std::vector<StateTensor> all;
  for (const auto& owned : parameters.owned())
    for (const auto& [parameter, begin, end, at] : owned.segments)
      add_elements("weights", parameters, parameter, begin, owned.master.narrow(0, at, end - begin),
                   vocab, all);
  return all;
}

std::vector<StateTensor> training_state(Parameters& parameters, Optimizer& optimizer,
                                        std::int64_t vocab) {
  auto all = weight_state(parameters, vocab);
  for (auto& state : optimizer.states()) {
    const auto& parameter = parameters[state.parameter];
    if (state.by_element) {
      add_elements(state.kind, parameters, state.parameter, state.begin, state.tensor, vocab, all);
      continue;
    }
    const bool by_word = parameter.spec.padding > 0 && state.kind == "row";
    all.push_back(whole_state(state.kind + "/" + parameter.spec.name,
                              by_word ? state.tensor.narrow(0, 0, vocab) : state.tensor));
    all.back().parameter = state.parameter;
    all.back().is_shared = true;
  }
  return all;
}

void save_share(const std::vector<StateTensor>& state, int rank, int ranks,
                checkpoint::SavedState& saved) {
  std::int64_t all = 0;
  for (const auto& each : state) all += each.tensor.numel();
  const auto begin = all * rank / ranks, end = all * (rank + 1) / ranks;
  std::int64_t at = 0;  // position in the concatenated tensors
  for (const auto& each : state) {
    const auto count = each.tensor.numel();
    save_range(each, std::clamp<std::int64_t>(begin - at, 0, count),
               std::clamp<std::int64_t>(end - at, 0, count), saved);
    at += count;
  }
}

void save_whole(const StateTensor& state, checkpoint::SavedState& saved) {
  save_range(state, 0, state.tensor.numel(), saved);
}

std::map<std::string, double> state_items(const Parameters& parameters,
                                          const Optimizer& optimizer) {
  const auto bytes = [](const at::Tensor& flat) { return static_cast<double>(flat.nbytes()); };
  const auto on_host = static_cast<double>(optimizer.host_state_bytes());
  std::map<std::string, double> items = {
      {"weights", bytes(parameters.weights())},
      {"gradients", bytes(parameters.gradients())},
      {"optimizer states", (parameters.has_masters() ? bytes(parameters.masters()) : 0) +
                               static_cast<double>(optimizer.state_bytes()) - on_host}};
  for (const auto& owned : parameters.owned()) {
    if (owned.on_host) items["optimizer states on the host"] += bytes(owned.master);
    if (!owned.is_away) continue;
    items["weights on the host"] += bytes(owned.weight);
    items["gradients on the host"] += bytes(owned.gradient);
  }
  if (on_host > 0) items["optimizer states on the host"] += on_host;
  if (optimizer.staging_bytes() > 0) items["staging on the host"] = optimizer.staging_bytes();
  std::erase_if(items, [](const auto& item) { return item.second == 0; });
  return items;
}

void load_state(const checkpoint::CheckpointReader& from, const std::vector<StateTensor>& state) {
  for (const auto& each : state) {
    const bool is_here = each.tensor.is_cpu() && each.tensor.is_contiguous();
    const auto host = is_here
                          ? each.tensor
                          : at::empty(each.tensor.sizes(), each.tensor.options().device(at::kCPU));
    const std::span to(static_cast<std::byte*>(host.data_ptr()), host.nbytes());
    if (const auto status = from.read(each.piece, to); !status)
      throw ClassifiedFailure("data", text(status.error()));
    if (!is_here) each.tensor.copy_(host);
  }
}

}  // namespace orch::train
