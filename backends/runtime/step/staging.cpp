#include "backends/runtime/step/staging.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>

#ifdef ORCH_CUDA
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace orch::train {

#ifdef ORCH_CUDA
class Staging::Impl {
 public:
  void run(const std::vector<Slice>& slices, const Work& work) {
    if (slices.empty()) return;
    const c10::cuda::CUDAGuard guard(slices.front().gradient.device());
    if (!down_) open(slices.front());
    at::cuda::CUDAEvent summed;
    summed.record();
    summed.block(*down_);
    summed.block(*up_);  // the step's products have read the old weights
    for (std::size_t i = 0; i < std::min(slices.size(), kSlots - 1); ++i)
      fetch(slots_[i], slices[i].gradient);
    for (std::size_t i = 0; i < slices.size(); ++i) {
      auto& slot = slots_[i % kSlots];
      slot.fetched.synchronize();
      slot.sent.synchronize();  // of the slice that was in it before
      work(i, slot.gradient.data_ptr(), slot.weight.data_ptr());
      send(slot, slices[i].weight);
      if (const auto next = i + kSlots - 1; next < slices.size())
        fetch(slots_[next % kSlots], slices[next].gradient);
    }
    at::cuda::CUDAEvent all;
    all.record(*up_);
    all.block(c10::cuda::getCurrentCUDAStream());
  }

 private:
  static constexpr std::size_t kSlots = 3;

  struct Slot {
    at::Tensor gradient, weight;  // pinned; a power of two of bytes, as the allocator would make it
    at::cuda::CUDAEvent fetched, sent;
  };

  void open(const Slice& like) {
    down_ = c10::cuda::getStreamFromPool(true);
    up_ = c10::cuda::getStreamFromPool(true);
    const auto pinned = [](const at::Tensor& like) {
      return at::empty({kMost}, at::TensorOptions().dtype(like.scalar_type()).pinned_memory(true));
    };
    for (auto& slot : slots_) {
      slot.gradient = pinned(like.gradient);
      slot.weight = pinned(like.weight);
    }
  }

  void fetch(Slot& slot, const at::Tensor& gradient) {
    const c10::cuda::CUDAStreamGuard guard(*down_);
    slot.gradient.narrow(0, 0, gradient.numel()).copy_(gradient, true);
    slot.fetched.record(*down_);
  }

  void send(Slot& slot, const at::Tensor& weight) {
    const c10::cuda::CUDAStreamGuard guard(*up_);
    weight.copy_(slot.weight.narrow(0, 0, weight.numel()), true);
    slot.sent.record(*up_);
  }

  std::optional<c10::cuda::CUDAStream> down_, up_;
  Slot slots_[kSlots];
};
#else
class Staging::Impl {
 public:
  void run(const std::vector<Slice>&, const Work&) {}  // there is no such device
};
#endif

Staging::Staging() : impl_(std::make_unique<Impl>()) {}
Staging::~Staging() = default;

void Staging::run(const std::vector<Slice>& slices, const Work& work) { impl_->run(slices, work); }

}  // namespace orch::train
