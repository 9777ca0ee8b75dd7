#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <vector>

#include "backends/runtime/comm/transport.h"

namespace orch::train {
namespace {

// A channel needs few blocks of the device, which a recv occupies for as long as it waits.
constexpr int kChannelBlocks = 4;

using TorchWork = c10::intrusive_ptr<c10d::Work>;

// A copy of the work shares its events but not its tensors, which may be freed before the watch
// checks the work.
RunningCollective running(TorchWork work) {
  using WorkNCCL = c10d::ProcessGroupNCCL::WorkNCCL;
  auto bare = c10::make_intrusive<WorkNCCL>(static_cast<const WorkNCCL&>(*work));
  auto look = [bare = std::move(bare)] {
    if (!bare->isCompleted()) return CollectiveProgress::running;
    return bare->exception() ? CollectiveProgress::failed : CollectiveProgress::done;
  };
  return {std::move(work), {}, false, std::move(look)};
}

// Everything runs on NCCL's own stream, after the work on the current stream; wait() makes the
// current stream wait, not the host.
class Nccl : public Transport {
 public:
  Nccl(c10::intrusive_ptr<c10d::ProcessGroupNCCL> group, at::Device device)
      : group_(std::move(group)), device_(device) {}

  RunningCollective all_reduce(const at::Tensor& tensor, Reduce op) override {
    c10d::AllreduceOptions options;
    options.reduceOp = op == Reduce::max ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
    std::vector<at::Tensor> tensors = {tensor};
    return running(group_->allreduce(tensors, options));
  }

  RunningCollective broadcast(const at::Tensor& tensor, int root) override {
    c10d::BroadcastOptions options;
    options.rootRank = root;
    std::vector<at::Tensor> tensors = {tensor};
    return running(group_->broadcast(tensors, options));
  }

  RunningCollective all_gather(const at::Tensor& out, const at::Tensor& in) override {
    auto to = out.view({-1}), from = in.view({-1});
    return running(group_->_allgather_base(to, from));
  }

  RunningCollective reduce_scatter(const at::Tensor& out, const at::Tensor& in) override {
    auto to = out.view({-1}), from = in.view({-1});
    return running(group_->_reduce_scatter_base(to, from));
  }

  RunningCollective send(const at::Tensor& tensor, int to, int tag) override {
    std::vector<at::Tensor> tensors = {tensor};
    return running(group_->send(tensors, to, tag));
  }

  RunningCollective recv(const at::Tensor& tensor, int from, int tag) override {
    std::vector<at::Tensor> tensors = {tensor};
    return running(group_->recv(tensors, from, tag));
  }

  // A barrier is for the host: it waits until the sum has been copied to it.
  RunningCollective barrier() override {
    const auto one = at::ones({1}, at::TensorOptions().device(device_).dtype(at::kFloat));
    auto sum = all_reduce(one, Reduce::sum);
    sum.finish = [one] { one.item<float>(); };
    return sum;
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
  const c10::cuda::CUDAGuard guard(options.device);
  // High priority: a collective that runs beside a product must get its share of the device first.
  auto nccl = c10d::ProcessGroupNCCL::Options::create(/*is_high_priority_stream=*/true);
  nccl->timeout = options.timeout + std::chrono::minutes(1);  // later than our own
  if (options.is_channel) nccl->config.maxCTAs = kChannelBlocks;
  auto group =
      c10::make_intrusive<c10d::ProcessGroupNCCL>(options.store, options.rank, options.size, nccl);
  // Connect now, with a time limit, and not within the first collective. Messages use this
  // connection, too.
  group->eagerConnectSingleDevice(options.device);
  return std::make_unique<Nccl>(std::move(group), options.device);
}

}  // namespace orch::train
