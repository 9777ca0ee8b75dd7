#include <ATen/ATen.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <vector>

#include "backends/runtime/comm/transport.h"
#include "core/base/descriptor.h"

namespace orch::train {
namespace {

at::Tensor as_bytes(const at::Tensor& tensor) { return tensor.view({-1}).view(at::kByte); }

// Gloo cannot sum bf16 and small integers, and rounds fp16 after every addition.
at::ScalarType summed_as(at::ScalarType type) {
  if (type == at::kHalf || type == at::kBFloat16) return at::kFloat;
  if (type == at::kBool || type == at::kShort) return at::kInt;
  return type;
}

c10d::ReduceOp reduce_op(Reduce op) {
  return op == Reduce::max ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
}

RunningCollective collective(c10::intrusive_ptr<c10d::Work> work,
                             std::function<void()> finish = {}) {
  return {std::move(work), std::move(finish), true};
}

// LibTorch 1.13's Gloo lacks bf16, _allgather_base and reduce-scatter: so bytes are moved, and sums
// are computed here.
class Gloo : public Transport {
 public:
  explicit Gloo(c10::intrusive_ptr<c10d::ProcessGroupGloo> group) : group_(std::move(group)) {}

  RunningCollective all_reduce(const at::Tensor& tensor, Reduce op) override {
    c10d::AllreduceOptions options;
    options.reduceOp = reduce_op(op);
    const auto wide =
        tensor.view({-1}).to(summed_as(tensor.scalar_type()));  // the same tensor, or a copy
    std::vector<at::Tensor> tensors = {wide};
    auto work = group_->allreduce(tensors, options);
    if (wide.scalar_type() == tensor.scalar_type()) return collective(std::move(work));
    return collective(std::move(work), [tensor, wide] { tensor.view({-1}).copy_(wide); });
  }

  RunningCollective broadcast(const at::Tensor& tensor, int root) override {
    c10d::BroadcastOptions options;
    options.rootRank = root;
    std::vector<at::Tensor> tensors = {as_bytes(tensor)};
    return collective(group_->broadcast(tensors, options));
  }

  RunningCollective all_gather(const at::Tensor& out, const at::Tensor& in) override {
    std::vector<std::vector<at::Tensor>> to = {as_bytes(out).chunk(group_->getSize())};
    std::vector<at::Tensor> from = {as_bytes(in)};
    return collective(group_->allgather(to, from));
  }

  RunningCollective reduce_scatter(const at::Tensor& out, const at::Tensor& in) override {
    const auto parts = at::empty_like(in);
    auto to = as_bytes(parts), from = as_bytes(in);
    std::vector<std::int64_t> even;
    auto work = group_->alltoall_base(to, from, even, even);
    const auto rows = parts.view({group_->getSize(), -1});
    return collective(std::move(work), [out, rows] {
      out.view({-1}).copy_(rows.to(summed_as(rows.scalar_type())).sum(0));
    });
  }

  RunningCollective send(const at::Tensor& tensor, int to, int tag) override {
    std::vector<at::Tensor> tensors = {as_bytes(tensor)};
    return {group_->send(tensors, to, tag), {}, false};
  }

  RunningCollective recv(const at::Tensor& tensor, int from, int tag) override {
    std::vector<at::Tensor> tensors = {as_bytes(tensor)};
    return {group_->recv(tensors, from, tag), {}, false};
  }

  RunningCollective barrier() override { return collective(group_->barrier()); }

  // Gloo has no abort, but if one recv of a context times out, all of its operations are stopped.
  void abort() noexcept override {
    for (int peer = 0; peer < group_->getSize(); ++peer) try {
        if (peer == group_->getRank()) continue;
        std::vector<at::Tensor> nothing = {at::empty({1}, at::kByte)};
        group_->recv(nothing, peer, kNoTag)->wait(std::chrono::milliseconds(1));
      } catch (...) {
      }
  }

 private:
  static constexpr int kNoTag = 0x6f726368;  // a tag that is never sent
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

// The local address from which this host reaches rank 0: a UDP socket determines it without sending
// a packet.
std::string own_address(const std::string& address, int port) {
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), nullptr, &found) != 0) return "";
  std::string result;
  for (auto* at = found; at && result.empty(); at = at->ai_next) {
    const Descriptor socket(::socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own = {};
    socklen_t size = sizeof own;
    char text[NI_MAXHOST] = {};
    auto* name = reinterpret_cast<sockaddr*>(&own);
    if (socket.is_open() && ::connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0 &&
        ::getsockname(socket.get(), name, &size) == 0 &&
        ::getnameinfo(name, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      result = text;
  }
  ::freeaddrinfo(found);
  return result;
}

std::shared_ptr<gloo::transport::Device> device_for(const TransportOptions& options) {
  if (const char* name = std::getenv("GLOO_SOCKET_IFNAME"); name && *name)
    return c10d::ProcessGroupGloo::createDeviceForInterface(name);
  const auto own = own_address(options.address, options.port);
  return own.empty() ? c10d::ProcessGroupGloo::createDefaultDevice()
                     : c10d::ProcessGroupGloo::createDeviceForHostname(own);
}

// Gloo's own thread polls without pause while another thread that holds a connection's lock waits
// for a core, if ranks share cores: four ranks on two cores lost half of their time. It inherits a
// lower priority from the thread that creates it.
std::shared_ptr<gloo::transport::Device> yielding_device(const TransportOptions& options) {
  return std::async(std::launch::async,
                    [&] {
                      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19);
                      return device_for(options);
                    })
      .get();
}

}  // namespace

std::unique_ptr<Transport> make_transport(const TransportOptions& options) {
  auto gloo = c10d::ProcessGroupGloo::Options::create(options.timeout);
  gloo->devices = {yielding_device(options)};
  return std::make_unique<Gloo>(
      c10::make_intrusive<c10d::ProcessGroupGloo>(options.store, options.rank, options.size, gloo));
}

}  // namespace orch::train
