#include "backends/runtime/step/replicas.h"

#include <ATen/ATen.h>

#include <cmath>

namespace orch::train {

bool Replicas::is_copy(std::size_t parameter) const {
  const auto& spec = parameters_[parameter].spec;
  return (spec.split_dim < 0 && mesh_.tensor_rank() > 0) || (spec.is_tied && !mesh_.is_first());
}

void Replicas::add_up_gradients() {
  add_shared();
  wait_for_stages();
  add_tied();
}

// With sequence parallelism, a rank's gradients of replicated parameters cover only its own rows;
// for some parameters, only its own heads.
void Replicas::add_shared() {
  if (mesh_.tensor_size() == 1) return;
  std::vector<at::Tensor> parts;
  for (const auto& owned : parameters_.owned())
    for (const auto& [parameter, begin, end, at] : owned.segments)
      if (const auto& spec = parameters_[parameter].spec;
          spec.split_dim < 0 && (sequence_parallel_ || spec.is_partial))
        parts.push_back(owned.gradient.narrow(0, at, end - begin));
  if (parts.empty()) return;
  Profile::Scope scope(&profile_, "shared gradient all-reduce");
  auto there = parts;  // some may be in host memory
  for (auto& part : there) part = part.to(mesh_.world().device());
  const auto all = at::cat(there);
  mesh_.tensor().all_reduce(all).wait();
  std::int64_t at = 0;
  for (auto& part : parts) {
    part.copy_(all.narrow(0, at, part.numel()));
    at += part.numel();
  }
}

// Otherwise an early rank would wait in the next collective, and its wait would count as
// communication.
void Replicas::wait_for_stages() {
  if (mesh_.stages() == 1 || !profile_.is_measuring()) return;
  Profile::Scope scope(&profile_, "idle");
  mesh_.world().world().barrier();
}

// The first and the last stage both have the word embedding, cut alike.
void Replicas::add_tied() {
  if (!mesh_.ends() || !parameters_.has(kWords)) return;
  Profile::Scope scope(&profile_, "tied embedding all-reduce");
  const auto words = parameters_.index(kWords);
  if (!parameters_[words].spec.is_tied) return;
  for (const auto& owned : parameters_.owned())
    for (const auto& [parameter, begin, end, at] : owned.segments)
      if (parameter == words)
        mesh_.ends()->all_reduce(owned.gradient.narrow(0, at, end - begin)).wait();
}

at::Tensor Replicas::squares() const {
  const auto like = at::TensorOptions().dtype(at::kDouble).device(mesh_.world().device());
  auto sum = at::zeros({}, like);
  if (is_repeated()) return sum;
  const auto count = [&](const OwnedRange& owned, std::int64_t begin, std::int64_t end) {
    if (begin < end) sum.add_(sum_of_squares(owned.gradient.narrow(0, begin, end - begin)));
  };
  const auto known = [&](std::size_t i) -> std::optional<double> {
    if (!known_squares || mesh_.tensor_size() > 1) return std::nullopt;
    return known_squares(i);
  };
  for (std::size_t i = 0; i < parameters_.owned().size(); ++i) {
    const auto& owned = parameters_.owned()[i];
    if (const auto all = known(i)) {
      sum.add_(*all);
      continue;
    }
    std::int64_t begin = 0;  // counted but not added yet; gaps are zero
    for (const auto& [parameter, first, last, at] : owned.segments)
      if (is_copy(parameter)) {
        count(owned, begin, at);
        begin = at + last - first;
      }
    count(owned, begin, owned.range.end - owned.range.begin);
  }
  return sum;
}

AgreedTotals Replicas::agree(const at::Tensor& loss, bool stop) const {
  const auto squared = squares();
  const double tells = mesh_.tensor_rank() == 0 ? 1 : 0;  // the loss is 0 on ranks without the head
  const auto shared = at::stack(
      {squared, loss.to(at::kDouble).mul_(tells), at::full_like(squared, stop ? 1.0 : 0.0)});
  mesh_.world().world().all_reduce(shared).wait();
  const auto host = shared.to(at::kCPU);
  mesh_.world().check();
  return {std::sqrt(host[0].item<double>()), static_cast<float>(host[1].item<double>()),
          host[2].item<double>() > 0};
}

double Replicas::total(const at::Tensor& loss) const {
  if (mesh_.tensor_rank() > 0) loss.zero_();
  mesh_.world().world().all_reduce(loss).wait();
  const auto sum = loss.item<double>();
  mesh_.world().check();
  return sum;
}

checkpoint::SavedState Replicas::save(std::vector<StateTensor> state) const {
  const bool is_first = mesh_.tensor_rank() == 0 && (!shards_ || mesh_.data_rank() == 0);
  std::erase_if(state, [&](const StateTensor& each) {
    return is_copy(each.parameter) || (each.is_shared && !is_first);
  });
  checkpoint::SavedState saved;
  for (const auto& owned : parameters_.owned()) saved.reads |= owned.on_host;
  if (!shards_)
    save_share(state, mesh_.data_rank(), mesh_.data_size(), saved);
  else if (!is_repeated())
    for (const auto& each : state) save_whole(each, saved);
  return saved;
}

OptimizerOptions Replicas::sums() const {
  OptimizerOptions options;
  if (mesh_.tensor_size() == 1 && !shards_) return options;
  options.counts = [this](std::size_t parameter) {
    return !(shards_ && is_repeated()) &&
           (parameters_[parameter].spec.split_dim >= 0 || mesh_.tensor_rank() == 0);
  };
  options.sum = [this](const at::Tensor& buffer) { sum(buffer); };
  options.agree = [this](std::size_t parameter, const at::Tensor& buffer) {
    agree(parameter, buffer);
  };
  return options;
}

void Replicas::sum(const at::Tensor& buffer) const {
  Profile::Scope scope(&profile_, "optimizer all-reduce");
  const auto here = buffer.to(mesh_.world().device());
  if (mesh_.tensor_size() > 1) mesh_.tensor().all_reduce(here).wait();
  if (shards_) mesh_.data().all_reduce(here).wait();  // over all mirror groups, to get equal bits
  if (!here.is_same(buffer)) buffer.copy_(here);
}

// Both ends sum in different orders: without this their copies would diverge.
void Replicas::agree(std::size_t parameter, const at::Tensor& buffer) const {
  if (!mesh_.ends() || !parameters_[parameter].spec.is_tied) return;
  Profile::Scope scope(&profile_, "optimizer all-reduce");
  const auto here = buffer.to(mesh_.world().device());
  mesh_.ends()->all_reduce(here).wait();
  buffer.copy_(here.div(2));
}

}  // namespace orch::train
