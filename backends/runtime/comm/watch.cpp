// Detects collectives that fail or hang, and finds the rank to blame. Three kinds of threads work
// together. The training threads only record, under a short lock, which collective they enter, wait
// for and leave. The watch's thread (Thread::loop) wakes up a few times a second: it checks NCCL's
// collectives, whose end the host does not wait for, against their deadlines, and looks for another
// rank's alarm in the store. All calls to the store happen in this thread (Thread::run passes tasks
// to it), because they block if the store's host hangs.
//
// After a failure, inquiry.h asks all ranks where they are and derives one verdict; then the watch
// aborts NCCL, so that blocked threads return with an error. The third thread, the guard, uses
// neither store nor device: it ends the process if the others are stuck after an alarm, or if the
// watch's thread has not come round for longer than any collective may take.
#include "backends/runtime/comm/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <set>
#include <vector>

#ifdef ORCH_CUDA
#include <c10/cuda/CUDAFunctions.h>
#endif

#include "backends/runtime/comm/inquiry.h"

namespace orch::train {
namespace {

using SteadyClock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kVerdictWithin = 6s;  // a verdict takes 2.5 s, perhaps after a previous one
constexpr auto kGuardEvery = 250ms;
constexpr auto kLastWords = 8s;  // from an alarm to the forced end of the process
constexpr auto kStuck = 5s;      // time for a call to the store, beyond a collective's time

// All ranks together ask the store a few hundred times a second, whatever their number.
std::chrono::milliseconds pause_for(int ranks) {
  return std::chrono::milliseconds(std::clamp(ranks * 5, 100, 2000));
}

}  // namespace

EnteredCollective WatchedCollective::told() const {
  auto what = what_;
  what.is_waited = is_waited_;
  return what;
}

void WatchedCollective::launched(std::function<CollectiveProgress()> look,
                                 std::function<void()> ended) {
  const std::lock_guard lock(mutex_);
  look_ = std::move(look);
  ended_ = std::move(ended);
}

CollectiveProgress WatchedCollective::look() {
  const std::lock_guard lock(mutex_);
  try {
    const auto progress = look_ ? look_() : CollectiveProgress::running;
    if (progress == CollectiveProgress::done) ended_();
    return progress;
  } catch (const std::exception&) {  // the device failed
    return CollectiveProgress::failed;
  }
}

// The state that Watch shares with its threads. The main one may have to be detached when the
// store's host hangs.
class Watch::Thread {
 public:
  Thread(const WorldOptions& options, FailureInquiry inquiry, const RankProcessId& rank0,
         std::function<void()> abort)
      : is_host_(options.rank == 0),
        device_(options.cuda ? options.local_rank : -1),
        pause_(pause_for(options.size)),
        rank0_(rank0),
        timeout_(options.timeout_seconds),
        give_up_(options.give_up),
        inquiry_(std::move(inquiry)),
        abort_(std::move(abort)) {}

  // Runs the task in the watch's thread; false if it did not end in time, or threw.
  bool run(std::function<void(Thread&)> task, SteadyClock::duration within) {
    auto packed = std::make_shared<std::packaged_task<void()>>(
        [this, task = std::move(task)] { task(*this); });
    auto done = packed->get_future();
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back([packed] { (*packed)(); });
    }
    changed_.notify_all();
    if (!wait_for(done, within)) return false;
    try {
      done.get();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    abort_ = {};
    followed_.clear();
    changed_.notify_all();
    guarded_.notify_all();
  }

  void enter(const EnteredCollective& what) {
    const std::lock_guard lock(mutex_);
    auto& last = entered_[what.group] = what;
    last.is_inside = true;
  }

  void wait(const EnteredCollective& what) {
    const std::lock_guard lock(mutex_);
    // Waiting for one collective includes all that the group began before.
    auto& last = entered_[what.group];
    if (last.is_inside && last.sequence >= what.sequence) last.is_waited = true;
  }

  void leave(const EnteredCollective& what) {
    const std::lock_guard lock(mutex_);
    if (auto& last = entered_[what.group]; is_same(last, what)) last.is_inside = false;
  }

  void follow(std::shared_ptr<WatchedCollective> followed) {
    const std::lock_guard lock(mutex_);
    followed_.push_back(std::move(followed));
  }

  bool is_alarmed() const { return alarmed_; }
  std::string known_verdict() {
    const std::lock_guard lock(mutex_);
    return known_verdict_;
  }

  // False at the deadline, or early if the store's host cannot answer.
  bool wait_for(const std::future<void>& done, SteadyClock::duration within) {
    for (const auto began = SteadyClock::now();
         done.wait_for(100ms) != std::future_status::ready;) {
      const auto waited = SteadyClock::now() - began;
      if (waited >= within || (waited >= 500ms && is_absent(rank0_.look()))) return false;
    }
    return true;
  }

  // --- functions that run in the thread ---

  void loop() {
#ifdef ORCH_CUDA
    // Otherwise querying a collective would create a context on the first GPU, for every rank of a
    // node.
    if (device_ >= 0) c10::cuda::set_device(static_cast<c10::DeviceIndex>(device_));
#endif
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      changed_.wait_for(lock, pause_, [&] { return stopped_ || !tasks_.empty(); });
      auto tasks = std::exchange(tasks_, {});
      lock.unlock();
      for (auto& task : tasks) task();
      rounds_missed_ = 0;
      try {
        look_after_followed();
        if (!alarmed_ && inquiry_.is_alarm()) take_alarm();
        if (alarmed_) {
          inquiry_.take_verdict();
          abort_followed();  // including collectives begun just before the alarm
        }
      } catch (const std::exception&) {  // the store is gone: the next failure reports it
      }
      lock.lock();
    }
  }

  std::string verdict(const EnteredCollective& here) {
    alarmed_ = true;
    const auto found = inquiry_.verdict(here, entered());
    keep_last_words(here, found);
    return found;
  }
  void announce(const std::string& why) {
    alarmed_ = true;
    inquiry_.announce(why, entered());
    // The caller may exit at once, and the store with it.
    if (is_host_) inquiry_.wait_until_others_heard(SteadyClock::now() + 1s);
  }

  // Runs in the guard's thread. Counts its own rounds instead of time, so that a job that was
  // suspended and resumed is not late.
  void guard(const std::function<std::string(const EnteredCollective&)>& of_host) {
    const auto rounds = [](auto time) { return static_cast<std::int64_t>(time / kGuardEvery); };
    const std::chrono::duration<double> longest = timeout_ + kStuck;
    std::unique_lock lock(mutex_);
    for (std::int64_t alarmed = 0; !stopped_;) {
      guarded_.wait_for(lock, kGuardEvery);
      alarmed += alarmed_ ? 1 : 0;
      if (alarmed <= rounds(kLastWords) && ++rounds_missed_ <= rounds(longest)) continue;
      const auto here = oldest();
      auto words = last_words_;
      lock.unlock();
      if (words.empty()) words = describe(here, of_host(here));
      give_up_(words);
      return;
    }
  }
  FailureInquiry& inquiry() { return inquiry_; }
  bool has_left = false;

 private:
  static bool is_same(const EnteredCollective& a, const EnteredCollective& b) {
    return a.sequence == b.sequence && a.kind == b.kind;
  }

  static std::string describe(const EnteredCollective& here, const std::string& verdict) {
    return fmt::format("{} ({} bytes) failed: {}", name_of(here), here.bytes, verdict);
  }

  void keep_last_words(const EnteredCollective& here, const std::string& verdict) {
    const std::lock_guard lock(mutex_);
    if (last_words_.empty()) last_words_ = describe(here, verdict);
    known_verdict_ = verdict;
  }

  // For each group the last collective entered, or the first one that has not ended.
  FailureInquiry::EnteredByGroup entered() {
    const std::lock_guard lock(mutex_);
    auto all = entered_;
    for (auto each = followed_.rbegin(); each != followed_.rend(); ++each)
      all[(*each)->what().group] = (*each)->told();
    return all;
  }

  EnteredCollective oldest() const {  // the lock must be held
    if (!followed_.empty()) return followed_.front()->what();
    for (const auto& [group, last] : entered_)
      if (last.is_inside && last.is_waited) return last;
    return {"step", "world"};
  }

  void take_alarm() {
    alarmed_ = true;
    inquiry_.answer(entered());
    std::unique_lock lock(mutex_);
    const auto here = oldest();
    lock.unlock();
    verdict(here);  // raised by another rank; before the abort, which may hang
    abort_followed();
  }

  // Does not hold the lock during queries, which the device may delay.
  void look_after_followed() {
    std::vector<std::shared_ptr<WatchedCollective>> all;
    {
      const std::lock_guard lock(mutex_);
      all.assign(followed_.begin(), followed_.end());
    }
    std::set<const WatchedCollective*> done;
    const WatchedCollective* late = nullptr;
    for (const auto& each : all) {
      const auto progress = each->look();
      if (progress == CollectiveProgress::done) {
        done.insert(each.get());
        leave(each->what());
      } else if (!late && (progress == CollectiveProgress::failed ||
                           SteadyClock::now() > each->deadline())) {
        late = each.get();
      }
    }
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(followed_, [&](const auto& each) { return done.contains(each.get()); });
    }
    if (!late) return;
    alarmed_ = true;
    try {
      verdict(late->what());
    } catch (const std::exception&) {
    }
    abort_followed();
  }

  // The host may wait for the device: its collectives must end before any thread can throw.
  void abort_followed() {
    std::unique_lock lock(mutex_);
    const bool is_any = !followed_.empty();
    followed_.clear();
    const auto abort = abort_;
    lock.unlock();
    if (is_any && abort) abort();
  }

  const bool is_host_;
  [[maybe_unused]] const int device_;  // -1: none
  const std::chrono::milliseconds pause_;
  const RankProcessId rank0_;
  const std::chrono::duration<double> timeout_;
  const std::function<void(const std::string&)> give_up_;
  FailureInquiry inquiry_;  // used by the thread only
  std::atomic<bool> alarmed_ = false;
  std::atomic<std::int64_t> rounds_missed_ = 0;  // rounds of the guard without one of this thread

  std::mutex mutex_;  // for the members below; never held while waiting
  std::condition_variable changed_, guarded_;
  std::function<void()> abort_;
  std::deque<std::function<void()>> tasks_;
  std::deque<std::shared_ptr<WatchedCollective>> followed_;
  FailureInquiry::EnteredByGroup entered_;
  std::string known_verdict_, last_words_;
  bool stopped_ = false;
};

Watch::Watch(const WorldOptions& options, c10::intrusive_ptr<c10d::Store> store,
             const RankProcessId& rank0, std::function<void()> abort)
    : options_(options),
      rank0_(rank0),
      state_(std::make_shared<Thread>(options, FailureInquiry(options, std::move(store), rank0),
                                      rank0, std::move(abort))) {
  std::packaged_task<void()> task([state = state_] { state->loop(); });
  ended_ = task.get_future();
  thread_ = std::thread(std::move(task));
  if (!options.give_up) return;
  guard_ = std::thread([state = state_, this] {
    state->guard([this](const EnteredCollective& here) { return of_host(here); });
  });
}

Watch::~Watch() {
  state_->stop();
  if (guard_.joinable()) guard_.join();
  if (ended_.wait_for(1s) == std::future_status::ready)
    thread_.join();
  else
    thread_.detach();  // blocked in a call to the store
}

void Watch::enter(const EnteredCollective& what) { state_->enter(what); }
void Watch::wait(const EnteredCollective& what) { state_->wait(what); }
void Watch::leave(const EnteredCollective& what) { state_->leave(what); }
void Watch::follow(std::shared_ptr<WatchedCollective> followed) {
  state_->follow(std::move(followed));
}
bool Watch::is_alarmed() const { return state_->is_alarmed(); }

std::string Watch::find_missing(const EnteredCollective& here) {
  const auto found = std::make_shared<std::string>();
  if (state_->run([here, found](Thread& thread) { *found = thread.verdict(here); }, kVerdictWithin))
    return *found;
  const auto known = state_->known_verdict();
  return known.empty() ? of_host(here) : known;
}

std::string Watch::of_host(const EnteredCollective& here) const {
  if (options_.rank == 0) return "the store does not answer";
  RankStatus host;
  host.where = rank0_;
  host.process = rank0_.look();
  // A killed process closes its connections before it disappears: on a busy machine long before.
  for (int i = 0; i < 50 && host.process == ProcessState::running; ++i) {
    std::this_thread::sleep_for(20ms);
    host.process = rank0_.look();
  }
  if (host.process == ProcessState::running) return "another rank detected it, without details";
  host.last_seen = last_seen(options_.flight_folder, 0);
  return blame(here, {host}) + "; it hosts the store, so the others cannot be asked";
}

void Watch::announce(const std::string& why) noexcept {
  try {
    state_->run([why](Thread& thread) { thread.announce(why); }, 2s);
  } catch (...) {
  }
}

void Watch::leave_with_others(std::chrono::milliseconds within) {
  const auto deadline = SteadyClock::now() + within;
  state_->run(
      [deadline](Thread& thread) {
        if (!std::exchange(thread.has_left, true)) thread.inquiry().leave();
        if (thread.is_alarmed())
          thread.inquiry().wait_until_others_heard(deadline);
        else
          thread.inquiry().wait_until_others_left(deadline);
      },
      within + 500ms);
}

}  // namespace orch::train
