#include "backends/runtime/step/staging.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "backends/runtime/host/memory.h"

namespace orch::train {

Staging::Staging(at::Device device) : device_(device), down_(device), up_(device) {}

// As much as the largest slice: once, since a training's slices are always the same.
void Staging::make_room(const std::vector<Slice>& slices) {
  std::int64_t most = 0;
  for (const auto& slice : slices) most = std::max(most, slice.down.numel());
  const auto grow = [&](at::Tensor& to, const at::Tensor& like) {
    if (!like.defined() || (to.defined() && to.numel() >= most)) return;
    to = pinned_zeros(most, like.scalar_type(), device_);
  };
  for (auto& slot : slots_) {
    slot.sent.synchronize();
    grow(slot.down, slices.front().down);
    grow(slot.up, slices.front().up);
  }
}

Moment Staging::run(const std::vector<Slice>& slices, const Moment& after, const Work& work) {
  if (slices.empty()) return after;
  make_room(slices);
  const auto fetch = [&](std::size_t i) {
    auto& slot = slots_[i % kSlots];
    const auto& from = slices[i].down;
    slot.fetched = down_.copy(slot.down.narrow(0, 0, from.numel()), from, after);
  };
  Moment last = after;
  for (std::size_t i = 0; i < std::min(slices.size(), kSlots - 1); ++i) fetch(i);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    auto& slot = slots_[i % kSlots];
    const auto& to = slices[i].up;
    slot.fetched.synchronize();
    slot.sent.synchronize();  // of the slice that was in it before
    work(i, slot.down.data_ptr(), to.defined() ? slot.up.data_ptr() : nullptr);
    if (to.defined()) last = slot.sent = up_.copy(to, slot.up.narrow(0, 0, to.numel()), after);
    if (const auto next = i + kSlots - 1; next < slices.size()) fetch(next);
  }
  return last;
}

double Staging::bytes() const {
  std::size_t sum = 0;
  for (const auto& slot : slots_)
    for (const auto* each : {&slot.down, &slot.up})
      if (each->defined()) sum += each->nbytes();
  return static_cast<double>(sum);
}

}  // namespace orch::train
