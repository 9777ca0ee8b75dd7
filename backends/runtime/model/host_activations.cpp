#include "backends/runtime/model/host_activations.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "backends/runtime/host/memory.h"

namespace orch::train {

void HostActivations::put(std::size_t layer, at::Tensor x) {
  auto& [host, back, there] = all_[layer];
  if (!host.defined() || host.sizes() != x.sizes())
    host = pinned_zeros(x.numel(), x.scalar_type(), device_).view(x.sizes());
  copies_.copy(host, x, StreamEvent::now(device_));
  copies_.hold(x);
}

void HostActivations::fetch(std::size_t layer) {
  auto& [host, back, there] = all_[layer];
  if (back.defined()) return;
  back = at::empty(host.sizes(), host.options().device(device_));
  there = copies_.copy(back, host, StreamEvent::now(device_));
}

at::Tensor HostActivations::take(std::size_t layer) {
  fetch(layer);
  all_[layer].there.wait();
  return std::exchange(all_[layer].back, {});
}

std::int64_t HostActivations::bytes_on_their_way() const {
  const auto& first = all_.front().host;
  return first.defined()
             ? static_cast<std::int64_t>(std::min<std::size_t>(2, all_.size()) * first.nbytes())
             : 0;
}

double HostActivations::bytes() const {
  std::size_t sum = 0;
  for (const auto& place : all_)
    if (place.host.defined()) sum += place.host.nbytes();
  return static_cast<double>(sum);
}

}  // namespace orch::train
