#include "backends/runtime/host/copies.h"

#include <ATen/ATen.h>

#ifdef ORCH_CUDA
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace orch::train {

#ifdef ORCH_CUDA
class StreamEvent::Impl {
 public:
  at::cuda::CUDAEvent event;
};

StreamEvent StreamEvent::now(at::Device device) {
  StreamEvent moment;
  if (!device.is_cuda()) return moment;
  moment.impl_ = std::make_shared<Impl>();
  moment.impl_->event.record(c10::cuda::getCurrentCUDAStream(device.index()));
  return moment;
}

void StreamEvent::wait() const {
  if (impl_) impl_->event.block(c10::cuda::getCurrentCUDAStream(impl_->event.device_index()));
}

void StreamEvent::synchronize() const {
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

StreamEvent Copies::copy(const at::Tensor& to, const at::Tensor& from, const StreamEvent& after) {
  return behind([&] {
    after.wait();
    to.copy_(from, true);
  });
}

StreamEvent Copies::behind(const std::function<void()>& work) {
  if (!impl_) {
    work();
    return {};
  }
  const c10::cuda::CUDAStreamGuard guard(impl_->stream);
  work();
  return StreamEvent::now(impl_->device);
}

void Copies::hold(const at::Tensor& tensor) const {
  if (impl_) tensor.record_stream(impl_->stream.unwrap());
}
#else
class StreamEvent::Impl {};
StreamEvent StreamEvent::now(at::Device) { return {}; }
void StreamEvent::wait() const {}
void StreamEvent::synchronize() const {}

class Copies::Impl {};
Copies::Copies(at::Device) {}
StreamEvent Copies::copy(const at::Tensor& to, const at::Tensor& from, const StreamEvent&) {
  to.copy_(from);
  return {};
}
StreamEvent Copies::behind(const std::function<void()>& work) {
  work();
  return {};
}
void Copies::hold(const at::Tensor&) const {}
#endif

Copies::~Copies() = default;

}  // namespace orch::train
