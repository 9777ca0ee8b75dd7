#include "backends/runtime/host/copies.h"

#include <ATen/ATen.h>

#ifdef ORCH_CUDA
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace orch::train {

#ifdef ORCH_CUDA
class Moment::Impl {
 public:
  at::cuda::CUDAEvent event;
};

Moment Moment::now(at::Device device) {
  Moment moment;
  if (!device.is_cuda()) return moment;
  moment.impl_ = std::make_shared<Impl>();
  moment.impl_->event.record(c10::cuda::getCurrentCUDAStream(device.index()));
  return moment;
}

void Moment::wait() const {
  if (impl_) impl_->event.block(c10::cuda::getCurrentCUDAStream(impl_->event.device_index()));
}

void Moment::synchronize() const {
  if (impl_) impl_->event.synchronize();
}

class Copies::Impl {
 public:
  explicit Impl(at::Device at)
      : device(at), stream(c10::cuda::getStreamFromPool(true, at.index())) {}
  at::Device device;
  c10::cuda::CUDAStream stream;
};

Copies::Copies(at::Device device) {
  if (device.is_cuda()) impl_ = std::make_unique<Impl>(device);
}

Moment Copies::copy(const at::Tensor& to, const at::Tensor& from, const Moment& after) {
  return behind([&] {
    after.wait();
    to.copy_(from, true);
  });
}

Moment Copies::behind(const std::function<void()>& work) {
  if (!impl_) {
    work();
    return {};
  }
  const c10::cuda::CUDAStreamGuard guard(impl_->stream);
  work();
  return Moment::now(impl_->device);
}

void Copies::hold(const at::Tensor& tensor) const {
  if (impl_) tensor.record_stream(impl_->stream.unwrap());
}
#else
class Moment::Impl {};
Moment Moment::now(at::Device) { return {}; }
void Moment::wait() const {}
void Moment::synchronize() const {}

class Copies::Impl {};
Copies::Copies(at::Device) {}
Moment Copies::copy(const at::Tensor& to, const at::Tensor& from, const Moment&) {
  to.copy_(from);
  return {};
}
Moment Copies::behind(const std::function<void()>& work) {
  work();
  return {};
}
void Copies::hold(const at::Tensor&) const {}
#endif

Copies::~Copies() = default;

}  // namespace orch::train
