#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <poll.h>

#include <csignal>
#include <cstdlib>
#include <future>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "backends/runtime/comm/comm.h"
#include "backends/runtime/comm/group_impl.h"
#include "backends/runtime/comm/inquiry.h"
#include "core/base/descriptor.h"

namespace orch::train {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;
using TorchStore = c10::intrusive_ptr<c10d::Store>;

constexpr char kOpened[] = "opened";  // empty: all ranks have come; else the reason why not
constexpr char kHeard[] = "heard";

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

std::string text_of(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

void check_options(const WorldOptions& options) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size)
    throw CommError(fmt::format("rank {} of {} ranks: RANK must be from 0 to WORLD_SIZE - 1",
                                options.rank, options.size));
  if (options.size == 1 || options.alone) return;
  if (options.port < 1 || options.port > 65535)
    throw CommError(
        fmt::format("port {}: set MASTER_PORT to a free port on the host of rank 0", options.port));
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(options.address.c_str(), nullptr, nullptr, &found);
  if (found) ::freeaddrinfo(found);
  if (code != 0)
    throw CommError(
        fmt::format("no host '{}' ({}): set MASTER_ADDR to the address of rank 0's host",
                    options.address, ::gai_strerror(code)));
}

// True if a server listens there.
bool is_listening(const WorldOptions& options) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(options.address.c_str(), std::to_string(options.port).c_str(), &hints,
                    &found) != 0)
    return false;
  bool answers = false;
  for (auto* at = found; at && !answers; at = at->ai_next) {
    const Descriptor socket(::socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.is_open()) continue;
    answers = ::connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0;
    pollfd ready = {socket.get(), POLLOUT, 0};
    if (!answers && errno == EINPROGRESS && ::poll(&ready, 1, /*ms=*/1000) == 1) {
      int error = 0;
      socklen_t size = sizeof error;
      answers = ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
    }
  }
  ::freeaddrinfo(found);
  return answers;
}

// If rank 0 died before it listened, waits as long as for a collective: TCPStore itself, in
// LibTorch 2.11, tries for up to twice its timeout.
void wait_for_rank_0(const WorldOptions& options) {
  const auto deadline = SteadyClock::now() + milliseconds(options.timeout_seconds);
  while (!is_listening(options)) {
    if (SteadyClock::now() > deadline)
      throw CommError(
          fmt::format("rank {} cannot reach rank 0 at {}:{}: nothing listened there for {} s; look "
                      "at the log of rank 0",
                      options.rank, options.address, options.port, options.timeout_seconds));
    std::this_thread::sleep_for(50ms);
  }
}

TorchStore connect(const WorldOptions& options, bool host) {
  if (!host) wait_for_rank_0(options);
  c10d::TCPStoreOptions store;
  store.port = static_cast<std::uint16_t>(options.port);
  store.isServer = host;
  store.waitWorkers = false;
  store.timeout = milliseconds(options.timeout_seconds);
  try {
    return c10::make_intrusive<c10d::TCPStore>(options.address, store);
  } catch (const std::exception& error) {
    const std::string reason = error.what();
    throw CommError(fmt::format("rank {} cannot {} {}:{} ({})", options.rank,
                                host ? "listen at" : "reach rank 0 at", options.address,
                                options.port, reason.substr(0, reason.find('\n'))));
  }
}

// The problem with the ranks that came, or that did not; empty: none.
std::string roll_call(c10d::Store& store, const WorldOptions& options) {
  const auto deadline = SteadyClock::now() + milliseconds(options.timeout_seconds);
  std::vector<int> missing;
  for (int rank = 0; rank < options.size; ++rank) {
    const auto key = FailureInquiry::who_key(rank);
    while (!store.check({key}) && SteadyClock::now() < deadline) std::this_thread::sleep_for(5ms);
    if (!store.check({key})) {
      missing.push_back(rank);
      continue;
    }
    const auto where = RankProcessId::unpack(text_of(store.get(key)));
    if (where.world != options.size)
      return fmt::format("rank {} (process {} on {}) has WORLD_SIZE {}, rank 0 has {}", rank,
                         where.pid, where.host, where.world, options.size);
    if (store.add(fmt::format("claims/{}", rank), 0) > 1)
      return fmt::format("more than one process has come as rank {}", rank);
  }
  if (missing.empty()) return {};
  return fmt::format("rank{} {} did not join within {} s", missing.size() > 1 ? "s" : "",
                     fmt::join(missing, ", "), options.timeout_seconds);
}

// Rank 0 waits for all ranks and publishes the result; the others wait for it.
void meet(c10d::Store& store, const WorldOptions& options) {
  store.add(fmt::format("claims/{}", options.rank), 1);
  store.set(FailureInquiry::who_key(options.rank),
            bytes_of(RankProcessId::own(options.size).pack()));
  std::string problem;
  if (options.rank == 0) {
    problem = roll_call(store, options);
    store.set(kOpened, bytes_of("." + problem));  // some stores cannot hold an empty value
    const auto deadline = SteadyClock::now() + 1s;
    while (!problem.empty() && SteadyClock::now() < deadline &&
           store.add(kHeard, 0) < options.size - 1)
      std::this_thread::sleep_for(5ms);
  } else {
    try {
      store.wait({kOpened}, milliseconds(options.timeout_seconds) + 3s);
      problem = text_of(store.get(kOpened)).substr(1);
      store.add(kHeard, 1);
    } catch (const std::exception&) {
      problem = "rank 0 did not start the rendezvous in time";
    }
  }
  if (!problem.empty()) throw CommError("rendezvous failed: " + problem);
}

// Gloo and the store write to sockets that a dead peer has closed: that must return an error, not
// raise a signal.
void ignore_broken_pipes() {
  struct sigaction now = {};
  if (::sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
    ::signal(SIGPIPE, SIG_IGN);
}

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

template <typename T>
void read_number(const char* name, T& to) {
  const auto text = from_environment(name);
  if (text.empty()) return;
  try {
    std::size_t used = 0;
    to = static_cast<T>(std::stod(text, &used));
    if (used == text.size()) return;
  } catch (const std::exception&) {
  }
  throw CommError(fmt::format("{}={} in the environment: a number was expected", name, text));
}

}  // namespace

WorldOptions world_options_from_environment() {
  WorldOptions options;
  read_number("RANK", options.rank);
  read_number("LOCAL_RANK", options.local_rank);
  read_number("WORLD_SIZE", options.size);
  read_number("MASTER_PORT", options.port);
  read_number("ORCH_TEST_JITTER_MS", options.jitter_ms);
  read_number("ORCH_TEST_JITTER_SEED", options.jitter_seed);
  if (const auto address = from_environment("MASTER_ADDR"); !address.empty())
    options.address = address;
  return options;
}

class World::Impl {
 public:
  explicit Impl(const WorldOptions& options) : common(std::make_shared<SharedGroupState>()) {
    check_options(options);
    common->options = options;
    common->recorder = options.flight_folder.empty() ? std::make_unique<flight::Recorder>()
                                                     : std::make_unique<flight::Recorder>(
                                                           options.flight_folder, options.rank);
    if (options.size == 1 || options.alone) return;
    ignore_broken_pipes();
    store = connect(options, options.rank == 0);
    meet(*store, options);
    const auto rank0 = RankProcessId::unpack(text_of(store->get(FailureInquiry::who_key(0))));
    common->watch =
        std::make_unique<Watch>(options, connect(options, false), rank0, [this] { abort_all(); });
  }

  // Closing connections cancels running operations: after success, ranks wait a short time for each
  // other first. Rank 0, which has the store, leaves last.
  ~Impl() {
    if (!common->watch) return;
    const bool is_alarmed = common->watch->is_alarmed();
    if (is_alarmed)
      abort_all();
    else
      common->watch->leave_with_others(1s);
    {
      const std::lock_guard lock(mutex);
      handles.clear();
      groups.clear();
    }
    const auto stay = is_alarmed ? 1s : 3s;  // other ranks only need to get the verdict
    common->watch->leave_with_others(common->options.rank == 0 ? stay : 0s);
    common->watch.reset();
  }

  at::Device device() const {
    if (!common->options.cuda) return at::kCPU;
    return {at::kCUDA, static_cast<at::DeviceIndex>(common->options.local_rank)};
  }

  CommGroup* add(const std::string& name, const std::vector<int>& ranks, bool is_channel = false) {
    const auto number = made++;
    const auto self = std::find(ranks.begin(), ranks.end(), common->options.rank);
    if (self == ranks.end()) return nullptr;
    auto impl = std::make_shared<CommGroup::Impl>();
    impl->common = common;
    impl->name = name;
    impl->members = ranks;
    impl->rank = static_cast<int>(self - ranks.begin());
    if (ranks.size() > 1) impl->transport = connect_group(*impl, number, is_channel);
    const std::lock_guard lock(mutex);
    groups.push_back(impl);
    handles.push_back(std::make_unique<CommGroup>(impl));
    return handles.back().get();
  }

  std::shared_ptr<SharedGroupState> common;
  TorchStore store;
  std::mutex mutex;  // guards groups: the watch may abort them
  std::vector<std::shared_ptr<CommGroup::Impl>> groups;
  std::vector<std::unique_ptr<CommGroup>> handles;
  int made = 0;

 private:
  std::unique_ptr<Transport> connect_group(const CommGroup::Impl& group, int number,
                                           bool is_channel) {
    const auto& options = common->options;
    if (options.alone) {
      TransportOptions pretended;
      pretended.rank = group.rank;
      pretended.size = group.size();
      return make_pretended(pretended);
    }
    EnteredCollective what{"connect", group.name, 0, 0, true, true, -1, group.members};
    TransportOptions transport;
    transport.store = c10::make_intrusive<c10d::PrefixStore>(
        fmt::format("group/{}/{}", number, group.name), store);
    transport.rank = group.rank;
    transport.size = group.size();
    transport.timeout = milliseconds(options.timeout_seconds);
    transport.address = options.address;
    transport.port = options.port;
    transport.device = device();
    transport.is_channel = is_channel;
    common->watch->enter(what);
    try {
      auto connected = make_in_time(transport);
      common->watch->leave(what);
      return connected;
    } catch (const std::exception& error) {
      throw group.failure(what, error.what());
    }
  }

  // If a rank dies while Gloo connects, it waits for several times its timeout: then its thread is
  // detached.
  std::unique_ptr<Transport> make_in_time(const TransportOptions& options) {
    std::packaged_task<std::unique_ptr<Transport>()> task(
        [options] { return make_transport(options); });
    auto made_one = task.get_future();
    std::thread(std::move(task)).detach();
    const auto deadline = SteadyClock::now() + options.timeout;
    while (made_one.wait_for(20ms) != std::future_status::ready)
      if (common->watch->is_alarmed() || SteadyClock::now() > deadline)
        throw std::runtime_error("connection timed out");
    return made_one.get();
  }

  // In parallel: closing one connection may wait for the device, where another one's kernel runs.
  void abort_all() {
    std::vector<std::thread> threads;
    {
      const std::lock_guard lock(mutex);
      for (const auto& group : groups)
        if (group->transport) threads.emplace_back([group] { group->transport->abort(); });
    }
    for (auto& thread : threads) thread.join();
  }
};

bool World::is_alarmed() const {
  return impl_->common->watch && impl_->common->watch->is_alarmed();
}

void World::check() const {
  if (!is_alarmed()) return;
  const auto& common = *impl_->common;
  std::vector<int> all;
  for (int rank = 0; rank < common.options.size; ++rank) all.push_back(rank);
  throw CommError("a collective was aborted: " +
                  common.watch->find_missing({"step", "world", 0, 0, true, true, -1, all}));
}

World::World(const WorldOptions& options) : impl_(std::make_unique<Impl>(options)) {
  std::vector<int> all;
  for (int rank = 0; rank < options.size; ++rank) all.push_back(rank);
  impl_->add("world", all);
}

World::~World() = default;

int World::rank() const { return impl_->common->options.rank; }
int World::size() const { return impl_->common->options.size; }
bool World::is_alone() const { return impl_->common->options.alone; }
at::Device World::device() const { return impl_->device(); }
CommGroup& World::world() { return *impl_->handles.front(); }
CommGroup* World::make_group(const std::string& name, const std::vector<int>& ranks) {
  return impl_->add(name, ranks);
}
CommGroup* World::make_channel(const std::string& name, int from, int to) {
  return impl_->add(name, {from, to}, /*is_channel=*/true);
}
std::uint64_t World::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& group : impl_->handles) sum += group->traffic().bytes;
  return sum;
}
flight::Recorder& World::recorder() { return *impl_->common->recorder; }

void World::announce_failure(const std::string& why) noexcept {
  if (impl_->common->watch) impl_->common->watch->announce(why);
}

}  // namespace orch::train
