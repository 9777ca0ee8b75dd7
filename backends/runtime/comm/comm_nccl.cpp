#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>

#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <vector>

#include "backends/runtime/comm/transport.h"

namespace orch::train {
namespace {

// Everything runs on NCCL's own stream, after what the current stream holds; wait() makes the
// current stream wait, not the host.
class Nccl : public Transport {
 public:
  Nccl(c10::intrusive_ptr<c10d::ProcessGroupNCCL> group, at::Device device)
      : group_(std::move(group)), device_(device) {}

  Running all_reduce(const at::Tensor& tensor, Reduce op) override {
    c10d::AllreduceOptions options;
    options.reduceOp = op == Reduce::max ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
    std::vector<at::Tensor> tensors = {tensor};
    return {group_->allreduce(tensors, options), {}, false};
  }

  Running broadcast(const at::Tensor& tensor, int root) override {
    c10d::BroadcastOptions options;
    options.rootRank = root;
    std::vector<at::Tensor> tensors = {tensor};
    return {group_->broadcast(tensors, options), {}, false};
  }

  Running all_gather(const at::Tensor& out, const at::Tensor& in) override {
    auto to = out.view({-1}), from = in.view({-1});
    return {group_->_allgather_base(to, from), {}, false};
  }

  Running reduce_scatter(const at::Tensor& out, const at::Tensor& in) override {
    auto to = out.view({-1}), from = in.view({-1});
    return {group_->_reduce_scatter_base(to, from), {}, false};
  }

  Running send(const at::Tensor& tensor, int to, int tag) override {
    std::vector<at::Tensor> tensors = {tensor};
    return {group_->send(tensors, to, tag), {}, false};
  }

  Running recv(const at::Tensor& tensor, int from, int tag) override {
    std::vector<at::Tensor> tensors = {tensor};
    return {group_->recv(tensors, from, tag), {}, false};
  }

  // A barrier is for the host: it waits until the sum has arrived there.
  Running barrier() override {
    const auto one = at::ones({1}, at::TensorOptions().device(device_).dtype(at::kFloat));
    auto running = all_reduce(one, Reduce::sum);
    running.finish = [one] { one.item<float>(); };
    return running;
  }

  void abort() noexcept override {
    try {
      group_->abort();
    } catch (...) {
    }
  }

 private:
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
  at::Device device_;
};

}  // namespace

std::unique_ptr<Transport> make_transport(const TransportOptions& options) {
  // Left to itself c10d ends the process without a word to the log about who is missing; our own
  // watch (watch.h) finds that out and then aborts the communicators.
  ::setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", 0);
  const c10::cuda::CUDAGuard guard(options.device);
  auto nccl = c10d::ProcessGroupNCCL::Options::create();
  nccl->timeout = options.timeout;
  auto group =
      c10::make_intrusive<c10d::ProcessGroupNCCL>(options.store, options.rank, options.size, nccl);
  return std::make_unique<Nccl>(std::move(group), options.device);
}

}  // namespace orch::train
