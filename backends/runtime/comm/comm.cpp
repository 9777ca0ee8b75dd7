#include "backends/runtime/comm/comm.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "backends/runtime/comm/group_impl.h"
#include "core/base/counter_random.h"

namespace orch::train {
namespace {

using SteadyClock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// After an alarm by another rank, a collective may still complete, within this time.
constexpr auto kGrace = 200ms;

// The result of a collective, from the thread that ran it.
struct CollectiveEnd {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false;
};

// LibTorch's messages begin with a source location and may end with a stack.
std::string first_line(std::string text) {
  text = text.substr(0, text.find('\n'));
  if (text.starts_with('[') && text.find("] ") != std::string::npos)
    text = text.substr(text.find("] ") + 2);
  return text;
}

void jitter(SharedGroupState& common) {
  const auto number = common.started++;
  if (common.options.jitter_ms <= 0) return;
  const auto key = counter_random::combine(common.options.jitter_seed,
                                           static_cast<std::uint64_t>(common.options.rank));
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(
      common.options.jitter_ms * counter_random::uniform(key, number)));
}

}  // namespace

class PendingCollective::State {
 public:
  State(std::shared_ptr<CommGroup::Impl> group, EnteredCollective what)
      : group_(std::move(group)), what_(what) {
    auto& common = *group_->common;
    flight_ = common.recorder->begin(what_.kind, group_->name, what_.bytes);
    common.watch->enter(what_);
  }

  void launch(const std::function<RunningCollective()>& launch) {
    if (group_->common->options.cuda) follow();
    try {
      if (group_->common->watch->is_alarmed()) throw std::runtime_error("not started");
      running_ = launch();
    } catch (const std::exception& error) {
      throw group_->failure(what_, error.what());
    }
    if (running_.tells_end) listen();
    if (followed_)
      followed_->launched(running_.look, [common = group_->common, flight = flight_] {
        common->recorder->end(flight);
      });
  }

  void wait() {
    if (followed_)
      followed_->wait();
    else
      group_->common->watch->wait(what_);
    try {
      if (running_.tells_end) wait_for_end();
      if (!running_.tells_end && group_->common->watch->is_alarmed())
        throw std::runtime_error("abandoned");
      running_.work->wait();
      if (running_.finish) running_.finish();
    } catch (const std::exception& error) {
      throw group_->failure(what_, error.what());
    }
    if (!group_->common->options.cuda) note_end();
  }

  // Keeps the memory until the process ends.
  void abandon() {
    static auto& mutex = *new std::mutex;
    static auto& abandoned = *new std::vector<RunningCollective>;
    const std::lock_guard lock(mutex);
    abandoned.push_back(std::move(running_));
  }

  bool is_done() const {
    if (!running_.tells_end) return running_.work->isCompleted();
    const std::lock_guard lock(end_->mutex);
    return end_->is_over;
  }

 private:
  void listen() {
    running_.work->getFuture()->addCallback(
        [end = end_, common = group_->common, flight = flight_](c10::ivalue::Future& future) {
          if (!future.hasError()) common->recorder->end(flight);
          const std::lock_guard lock(end->mutex);
          end->is_over = true;
          end->changed.notify_all();
        });
  }

  void follow() {
    const std::chrono::duration<double> timeout(group_->common->options.timeout_seconds);
    followed_ = std::make_shared<WatchedCollective>(
        what_, SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(timeout));
    group_->common->watch->follow(followed_);
  }

  void wait_for_end() {
    std::unique_lock lock(end_->mutex);
    std::optional<SteadyClock::time_point> alarm;
    while (!end_->is_over) {
      end_->changed.wait_for(lock, 50ms);
      if (!alarm && group_->common->watch->is_alarmed()) alarm = SteadyClock::now();
      if (!end_->is_over && alarm && SteadyClock::now() > *alarm + kGrace) break;
    }
    if (end_->is_over) return;
    lock.unlock();
    group_->transport->abort();
    throw std::runtime_error("abandoned");
  }

  void note_end() {
    group_->common->recorder->end(flight_);
    group_->common->watch->leave(what_);
  }

  std::shared_ptr<CommGroup::Impl> group_;
  EnteredCollective what_;
  std::uint64_t flight_ = 0;
  RunningCollective running_;
  std::shared_ptr<WatchedCollective> followed_;  // for NCCL
  std::shared_ptr<CollectiveEnd> end_ = std::make_shared<CollectiveEnd>();
};

PendingCollective::PendingCollective() = default;
PendingCollective::PendingCollective(std::unique_ptr<State> state) : state_(std::move(state)) {}
PendingCollective::PendingCollective(PendingCollective&&) noexcept = default;

PendingCollective& PendingCollective::operator=(PendingCollective&& other) noexcept {
  if (this != &other) {
    PendingCollective old(std::move(*this));
    state_ = std::move(other.state_);
    waited_ = std::exchange(other.waited_, false);
  }
  return *this;
}

PendingCollective::~PendingCollective() {
  // During the handling of a failure: the awaited end may never come, and the other ranks have not
  // been notified. The tensors are kept, because the device may still write to them.
  if (std::uncaught_exceptions() > 0) {
    if (state_ && !waited_) state_->abandon();
    return;
  }
  try {
    wait();
  } catch (...) {
  }
}

void PendingCollective::wait() {
  if (!state_ || std::exchange(waited_, true)) return;
  state_->wait();
}

bool PendingCollective::is_done() const { return !state_ || state_->is_done(); }

CommError CommGroup::Impl::failure(const EnteredCollective& what, const std::string& reason) const {
  const auto verdict = common->watch->find_missing(what);
  const auto peer =
      what.peer < 0 ? std::string()
                    : fmt::format(" {} rank {}", what.kind == "send" ? "to" : "from", what.peer);
  const auto& world = common->options;
  const auto group = size() < world.size ? fmt::format(", in a group of {}", size()) : "";
  return CommError(fmt::format("{}{} ({} bytes; rank {} of {} ranks{}) failed: {} [{}]",
                               name_of(what), peer, what.bytes, world.rank, world.size, group,
                               verdict, first_line(reason)));
}

PendingCollective CommGroup::Impl::start(const char* kind, const at::Tensor& largest, int peer,
                                         const std::function<RunningCollective()>& launch) {
  const auto amount = static_cast<std::uint64_t>(largest.defined() ? largest.nbytes() : 0);
  jitter(*common);
  ++calls;
  if (std::string_view(kind) != "recv") bytes += amount;
  if (common->options.alone) {
    launch();
    return {};
  }
  const auto sequence = peer < 0 ? ++collectives : ++messages;
  auto state = std::make_unique<PendingCollective::State>(
      shared_from_this(),
      EnteredCollective{kind, name, sequence, amount, true, false,
                        peer < 0 ? -1 : members[static_cast<std::size_t>(peer)], members});
  state->launch(launch);
  return PendingCollective(std::move(state));
}

CommGroup::CommGroup(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
CommGroup::~CommGroup() = default;

const std::string& CommGroup::name() const { return impl_->name; }
int CommGroup::rank() const { return impl_->rank; }
int CommGroup::size() const { return impl_->size(); }
Traffic CommGroup::traffic() const { return {impl_->calls, impl_->bytes}; }

PendingCollective CommGroup::all_reduce(const at::Tensor& tensor, Reduce op) {
  if (size() == 1) return {};
  return impl_->start("all_reduce", tensor, -1,
                      [&] { return impl_->transport->all_reduce(tensor, op); });
}

PendingCollective CommGroup::broadcast(const at::Tensor& tensor, int root) {
  if (size() == 1) return {};
  return impl_->start("broadcast", tensor, -1,
                      [&] { return impl_->transport->broadcast(tensor, root); });
}

PendingCollective CommGroup::all_gather(const at::Tensor& out, const at::Tensor& in) {
  if (size() == 1) {
    out.view({-1}).copy_(in.view({-1}));
    return {};
  }
  return impl_->start("all_gather", out, -1, [&] { return impl_->transport->all_gather(out, in); });
}

PendingCollective CommGroup::reduce_scatter(const at::Tensor& out, const at::Tensor& in) {
  if (size() == 1) {
    out.view({-1}).copy_(in.view({-1}));
    return {};
  }
  return impl_->start("reduce_scatter", in, -1,
                      [&] { return impl_->transport->reduce_scatter(out, in); });
}

PendingCollective CommGroup::send(const at::Tensor& tensor, int to, int tag) {
  return impl_->start("send", tensor, to, [&] { return impl_->transport->send(tensor, to, tag); });
}

PendingCollective CommGroup::recv(const at::Tensor& tensor, int from, int tag) {
  return impl_->start("recv", tensor, from,
                      [&] { return impl_->transport->recv(tensor, from, tag); });
}

void CommGroup::barrier() {
  if (size() == 1) return;
  impl_->start("barrier", {}, -1, [&] { return impl_->transport->barrier(); }).wait();
}

}  // namespace orch::train
