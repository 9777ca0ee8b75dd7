#include "backends/runtime/step/staging.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "backends/runtime/host/memory.h"

namespace orch::train {

Staging::Staging(at::Device device) : device_(device), down_(device), up_(device) {}

// Sized for the largest slice, once: a training's slices never change.
void Staging::make_room() {
  std::int64_t most = 0;
  for (const auto& slice : slices_) most = std::max(most, slice.down.numel());
  for (auto& slot : slots_) {
    const auto grow = [&](at::Tensor& to, const at::Tensor& like) {
      if (!like.defined() || (to.defined() && to.numel() >= most)) return;
      slot.sent.synchronize();
      to = pinned_zeros(most, like.scalar_type(), device_);
    };
    grow(slot.down, slices_.front().down);
    grow(slot.up, slices_.front().up);
  }
}

void Staging::fetch(std::size_t slice) {
  auto& slot = slots_[slice % kSlots];
  const auto& from = slices_[slice].down;
  slot.fetched = down_.copy(slot.down.narrow(0, 0, from.numel()), from, after_);
}

void Staging::begin(std::vector<Slice> slices, const StreamEvent& after) {
  slices_ = std::move(slices);
  after_ = after;
  next_ = 0;
  if (slices_.empty()) return;
  make_room();
  for (std::size_t i = 0; i < std::min(slices_.size(), kSlots - 1); ++i) fetch(i);
}

StreamEvent Staging::run(std::size_t count, const Work& work) {
  StreamEvent last = after_;
  for (const auto end = next_ + count; next_ < end; ++next_) {
    auto& slot = slots_[next_ % kSlots];
    const auto& to = slices_[next_].up;
    slot.fetched.synchronize();
    slot.sent.synchronize();  // copy of the slot's previous slice
    work(next_ + count - end, slot.down.data_ptr(), to.defined() ? slot.up.data_ptr() : nullptr);
    if (to.defined()) last = slot.sent = up_.copy(to, slot.up.narrow(0, 0, to.numel()), after_);
    if (const auto next = next_ + kSlots - 1; next < slices_.size()) fetch(next);
  }
  if (next_ == slices_.size()) slices_.clear();  // they would keep their memory
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
