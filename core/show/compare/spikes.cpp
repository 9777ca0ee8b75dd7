#include "core/show/compare/spikes.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

#include "core/record/statistics/interval.h"

namespace orch::compare {
namespace {

using record::LossPoint;
using record::Spike;

constexpr std::size_t kLevel = 8;          // points whose median is the level before a jump
constexpr std::size_t kMemory = 64;        // points that the noise is estimated from
constexpr std::size_t kEnoughPoints = 16;  // points needed before a jump can be found
constexpr std::size_t kNearResume = 5;     // points after a resume at which a jump is at_resume
constexpr double kJump = 6;                // threshold in standard deviations
constexpr double kResumeJump = 4;          // lower, as jumps are expected after a resume
constexpr double kLeastJump = 0.005;       // smallest jump, as a share of the level
constexpr double kBack = 2;  // deviations above the level at which the loss has recovered

// The last losses, with their level and noise.
class RecentLosses {
 public:
  void add(double loss) {
    held_.push_back(loss);
    if (held_.size() > kMemory) held_.pop_front();
  }
  bool enough() const { return held_.size() >= kEnoughPoints; }
  double level() const {
    return statistics::median({held_.end() - static_cast<std::ptrdiff_t>(kLevel), held_.end()});
  }
  // Second differences remove the slope; their variance is 1 + 4 + 1 = 6 times that of a point.
  double noise() const {
    std::vector<double> bends;
    for (std::size_t i = 2; i < held_.size(); ++i)
      bends.push_back(held_[i] - 2 * held_[i - 1] + held_[i - 2]);
    return std::max(statistics::spread(bends) / std::sqrt(6.0), kLeastJump / kJump * level());
  }

 private:
  std::deque<double> held_;
};

class SpikeFinder {
 public:
  explicit SpikeFinder(std::vector<std::int64_t> resumes) : resumes_(std::move(resumes)) {
    std::sort(resumes_.begin(), resumes_.end());
  }

  void add(const LossPoint& point) {
    pass_resumes(point.step);
    if (open_) {
      follow(point);
    } else if (!start(point)) {
      past_.add(point.loss);
    }
    if (since_resume_ > 0) --since_resume_;
  }

  std::vector<Spike> take() {
    if (open_) found_.push_back(*open_);
    return std::move(found_);
  }

 private:
  // A jump that has not ended when the run is resumed never recovered: the next jump is measured
  // from the current level of the loss.
  void pass_resumes(std::int64_t step) {
    while (next_ < resumes_.size() && resumes_[next_] <= step) {
      ++next_;
      since_resume_ = kNearResume;
      if (!open_) continue;
      found_.push_back(*open_);
      open_.reset();
      past_ = during_;
    }
  }

  bool start(const LossPoint& point) {
    if (!past_.enough()) return false;
    level_ = past_.level();
    noise_ = past_.noise();
    const bool resumed = since_resume_ > 0;
    if (point.loss - level_ <= (resumed ? kResumeJump : kJump) * noise_) return false;
    open_ = Spike{point.step, level_, point.loss, 0, resumed};
    during_ = {};
    during_.add(point.loss);
    return true;
  }

  void follow(const LossPoint& point) {
    open_->peak = std::max(open_->peak, point.loss);
    during_.add(point.loss);
    if (point.loss > level_ + kBack * noise_) return;
    open_->recovered = point.step;
    found_.push_back(*open_);
    open_.reset();
    past_.add(point.loss);
  }

  std::vector<std::int64_t> resumes_;
  std::size_t next_ = 0, since_resume_ = 0;
  RecentLosses past_, during_;
  double level_ = 0, noise_ = 0;
  std::optional<Spike> open_;
  std::vector<Spike> found_;
};

}  // namespace

std::vector<Spike> find_spikes(const std::vector<LossPoint>& losses,
                               const std::vector<std::int64_t>& resumes) {
  SpikeFinder finder(resumes);
  for (const auto& point : losses)
    if (std::isfinite(point.loss)) finder.add(point);
  return finder.take();
}

}  // namespace orch::compare
