#include "backends/runtime/model/profile.h"

#include <utility>

#ifdef ORCH_CUDA
#include <ATen/cuda/CUDAEvent.h>
#endif

namespace orch::train {
namespace {

// Entering or leaving a scope sets a mark. The time between two marks belongs to the innermost open
// scope, if any.
class CpuMarks {
 public:
  void begin() {}
  template <class Add>
  void mark(const char* item, Add&& add) {
    const auto now = std::chrono::steady_clock::now();
    if (item) add(item, std::chrono::duration<double>(now - last_).count());
    last_ = now;
  }
  template <class Add>
  void end(Add&&) {}

 private:
  std::chrono::steady_clock::time_point last_;
};

#ifdef ORCH_CUDA
// Events on the current stream, read at the end of the step: no wait before.
class CudaMarks {
 public:
  void begin() { items_.clear(); }
  template <class Add>
  void mark(const char* item, Add&&) {
    if (items_.size() == events_.size()) events_.emplace_back(cudaEventDefault);
    events_[items_.size()].record();
    items_.push_back(item);
  }
  template <class Add>
  void end(Add&& add) {
    if (items_.empty()) return;
    events_[items_.size() - 1].synchronize();
    for (std::size_t i = 1; i < items_.size(); ++i)
      if (items_[i]) add(items_[i], 1e-3 * double{events_[i - 1].elapsed_time(events_[i])});
  }

 private:
  std::vector<at::cuda::CUDAEvent> events_;  // reused in the next step
  std::vector<const char*> items_;
};
#else
using CudaMarks = CpuMarks;
#endif

}  // namespace

class Profile::Impl {
 public:
  explicit Impl(bool cuda) : cuda_(cuda) {}

  void begin_step(bool measure) {
    measuring_ = measure || !cuda_;
    if (cuda_) on_cuda_.begin();
  }

  void enter(const char* item) {
    mark(open_.empty() ? nullptr : open_.back());
    open_.push_back(item);
  }

  void leave() {
    mark(open_.back());
    open_.pop_back();
  }

  // The first measured step is the warm-up.
  void end_step() {
    last_.clear();
    was_measured_ = std::exchange(measuring_, false);
    if (!was_measured_) return;
    if (cuda_) on_cuda_.end([this](const char* item, double seconds) { add(item, seconds); });
    for (const auto& [item, seconds] : step_) last_[item] += seconds;
    step_.clear();
    if (!std::exchange(warm_, true)) return;
    for (const auto& [item, seconds] : last_) totals_[item] += seconds;
    ++steps_;
  }

  bool measuring_ = false, was_measured_ = false;
  std::int64_t steps_ = 0;
  std::map<std::string, double> totals_, last_;

 private:
  void mark(const char* item) {
    const auto to = [this](const char* name, double seconds) { add(name, seconds); };
    cuda_ ? on_cuda_.mark(item, to) : on_cpu_.mark(item, to);
  }

  // There are few items: comparing addresses is faster than a map. Equal strings at two addresses
  // are merged at the end of the step.
  void add(const char* item, double seconds) {
    for (auto& [name, sum] : step_)
      if (name == item) {
        sum += seconds;
        return;
      }
    step_.emplace_back(item, seconds);
  }

  const bool cuda_;
  bool warm_ = false;
  CpuMarks on_cpu_;
  CudaMarks on_cuda_;
  std::vector<const char*> open_;
  std::vector<std::pair<const char*, double>> step_;
};

Profile::Profile(bool cuda) : impl_(std::make_unique<Impl>(cuda)) {}
Profile::~Profile() = default;

void Profile::begin_step(bool measure) { impl_->begin_step(measure); }
void Profile::end_step() { impl_->end_step(); }
std::int64_t Profile::steps() const { return impl_->steps_; }
bool Profile::is_measuring() const { return impl_->measuring_; }

std::optional<double> Profile::last_seconds(const std::string& item) const {
  if (!impl_->was_measured_) return std::nullopt;
  const auto found = impl_->last_.find(item);
  return found == impl_->last_.end() ? 0 : found->second;
}

std::optional<double> Profile::last_busy_seconds() const {
  if (!impl_->was_measured_) return std::nullopt;
  double busy = 0;
  for (const auto& [item, seconds] : impl_->last_) {
    const bool waits = item == "idle" || item.starts_with("send ") ||
                       item.find("all-reduce") != std::string::npos ||
                       item.find("all-gather") != std::string::npos ||
                       item.find("reduce-scatter") != std::string::npos;
    if (!waits) busy += seconds;
  }
  return busy;
}

std::map<std::string, double> Profile::seconds_per_step() const {
  auto seconds = impl_->totals_;
  for (auto& [item, sum] : seconds) sum /= static_cast<double>(impl_->steps_);
  return seconds;
}

Profile::Scope::Scope(Profile* profile, const char* item)
    : profile_(profile && profile->impl_->measuring_ ? profile : nullptr) {
  if (profile_) profile_->impl_->enter(item);
}

// A failed device fails here again, while the original failure is being handled.
Profile::Scope::~Scope() {
  if (!profile_) return;
  try {
    profile_->impl_->leave();
  } catch (...) {
  }
}

}  // namespace orch::train
