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
  void run(const at::Tensor& gradient, const at::Tensor& weight, const std::vector<Range>& slices,
           const Work& work) {
    const c10::cuda::CUDAGuard guard(gradient.device());
    if (!down_) open(gradient, weight);
    at::cuda::CUDAEvent summed;
    summed.record();
    summed.block(*down_);
    summed.block(*up_);  // the step's products have read the old weights
    for (std::size_t i = 0; i < std::min(slices.size(), kSlots - 1); ++i)
      fetch(slots_[i], gradient, slices[i]);
    for (std::size_t i = 0; i < slices.size(); ++i) {
      auto& slot = slots_[i % kSlots];
      slot.fetched.synchronize();
      slot.sent.synchronize();  // of the slice that was in it before
      work(slot.gradient.data_ptr(), slot.weight.data_ptr(), slices[i]);
      send(slot, weight, slices[i]);
      if (const auto next = i + kSlots - 1; next < slices.size())
        fetch(slots_[next % kSlots], gradient, slices[next]);
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

  void open(const at::Tensor& gradient, const at::Tensor& weight) {
    down_ = c10::cuda::getStreamFromPool(true);
    up_ = c10::cuda::getStreamFromPool(true);
    const auto pinned = [](const at::Tensor& like) {
      return at::empty({kMost}, at::TensorOptions().dtype(like.scalar_type()).pinned_memory(true));
    };
    for (auto& slot : slots_) {
      slot.gradient = pinned(gradient);
      slot.weight = pinned(weight);
    }
  }

  void fetch(Slot& slot, const at::Tensor& gradient, const Range& slice) {
    const c10::cuda::CUDAStreamGuard guard(*down_);
    const auto count = slice.end - slice.begin;
    slot.gradient.narrow(0, 0, count).copy_(gradient.narrow(0, slice.begin, count), true);
    slot.fetched.record(*down_);
  }

  void send(Slot& slot, const at::Tensor& weight, const Range& slice) {
    const c10::cuda::CUDAStreamGuard guard(*up_);
    const auto count = slice.end - slice.begin;
    weight.narrow(0, slice.begin, count).copy_(slot.weight.narrow(0, 0, count), true);
    slot.sent.record(*up_);
  }

  std::optional<c10::cuda::CUDAStream> down_, up_;
  Slot slots_[kSlots];
};
#else
class Staging::Impl {
 public:
  void run(const at::Tensor&, const at::Tensor&, const std::vector<Range>&, const Work&) {}
};
#endif

Staging::Staging() : impl_(std::make_unique<Impl>()) {}
Staging::~Staging() = default;

void Staging::run(const at::Tensor& gradient, const at::Tensor& weight,
                  const std::vector<Range>& slices, const Work& work) {
  impl_->run(gradient, weight, slices, work);
}

}  // namespace orch::train
