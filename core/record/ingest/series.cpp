#include "core/record/ingest/series.h"

#include <algorithm>
#include <cmath>

#include "core/record/statistics/interval.h"

namespace orch::ingest {
namespace {

constexpr double kTicks = 50;  // minimum between two moments, for an error of at most 2 %

// Keeps the first, the third, the fifth value and so on.
template <class T>
void drop_every_second(std::vector<T>& values) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < values.size(); i += 2) values[kept++] = values[i];
  values.resize(kept);
}

bool slower(const statistics::TimedStep& a, const statistics::TimedStep& b) {
  return a.seconds > b.seconds;
}

}  // namespace

void SampleReservoir::add(double value, std::int64_t step) {
  if (!std::isfinite(value) || seen_++ % stride_ != 0) return;
  values_.push_back(value);
  steps_.push_back(step);
  if (values_.size() < most_) return;
  drop_every_second(values_);
  drop_every_second(steps_);
  stride_ *= 2;
}

double SampleReservoir::median() const { return statistics::median(values_); }

double SampleReservoir::median(const std::function<bool(std::int64_t)>& counts) const {
  std::vector<double> counted;
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (counts(steps_[i])) counted.push_back(values_[i]);
  return counted.empty() ? median() : statistics::median(counted);
}

void LoggedStepTimes::add(const statistics::TimedStep& step, std::uint32_t mark) {
  keep_if_slow(step);
  if (seen_++ % stride_ != 0) return;
  steps_.push_back(step);
  marks_.push_back(mark);
  if (steps_.size() < kMostSteps) return;
  drop_every_second(steps_);
  drop_every_second(marks_);
  stride_ *= 2;
}

void LoggedStepTimes::keep_if_slow(const statistics::TimedStep& step) {
  if (slowest_.size() == kMostSlow) {
    if (step.seconds <= least_slow_) return;
    slowest_.erase(std::min_element(slowest_.begin(), slowest_.end(),
                                    [](const auto& a, const auto& b) { return slower(b, a); }));
  }
  slowest_.push_back(step);
  least_slow_ = std::max_element(slowest_.begin(), slowest_.end(), slower)->seconds;
}

void LoggedStepTimes::drop_from(std::int64_t step) {
  while (!steps_.empty() && steps_.back().step >= step) steps_.pop_back();
  marks_.resize(steps_.size());
  std::erase_if(slowest_, [&](const auto& slow) { return slow.step >= step; });
}

void LoggedStepTimes::scale(double factor) {
  for (auto& step : steps_) step.seconds *= factor;
  for (auto& step : slowest_) step.seconds *= factor;
  least_slow_ *= factor;
}

std::optional<LoggedStepTimes::Kept> LoggedStepTimes::kept(std::int64_t step) const {
  const auto found =
      std::lower_bound(steps_.begin(), steps_.end(), step,
                       [](const auto& held, std::int64_t wanted) { return held.step < wanted; });
  if (found == steps_.end() || found->step != step) return std::nullopt;
  return Kept{found->seconds, marks_[static_cast<std::size_t>(found - steps_.begin())]};
}

void LogStopwatch::tell(std::int64_t step, double seconds, double tick) {
  if (!(seconds > 0) || !std::isfinite(seconds)) return;
  tick_ = std::max(tick_, tick);
  if (!begun_ || step <= from_step_ || seconds < from_) {
    begun_ = true;
    first_step_ = last_step_ = from_step_ = step;
    first_ = last_ = from_ = seconds;
    return;
  }
  if (step <= last_step_) return;
  last_step_ = step;
  last_ = seconds;
  if (seconds == from_ || seconds - from_ < kTicks * tick_) return;
  times_.add({step, (seconds - from_) / static_cast<double>(step - from_step_), false});
  from_step_ = step;
  from_ = seconds;
}

void LogStopwatch::drop_from(std::int64_t step) {
  times_.drop_from(step);
  begun_ = false;
}

LoggedStepTimes LogStopwatch::times() const {
  if (!times_.steps().empty() || empty() || last_ <= first_) return times_;
  LoggedStepTimes whole;
  whole.add({last_step_, (last_ - first_) / static_cast<double>(last_step_ - first_step_), false});
  return whole;
}

void LossCurve::add(const record::LossPoint& point) {
  if (!std::isfinite(point.loss)) {
    if (!lost_) lost_ = point;
    return;
  }
  lost_.reset();
  if (!first_) first_ = point;
  last_ = point;
  if (buckets_.empty() || buckets_.back().count >= stride_) {
    if (buckets_.size() >= kMostBuckets) halve();
    buckets_.push_back({point, point, 1});
    return;
  }
  auto& bucket = buckets_.back();
  ++bucket.count;
  if (point.loss < bucket.low.loss) bucket.low = point;
  if (point.loss > bucket.high.loss) bucket.high = point;
}

void LossCurve::halve() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < buckets_.size(); i += 2) {
    auto bucket = buckets_[i];
    if (i + 1 < buckets_.size()) {
      const auto& next = buckets_[i + 1];
      if (next.low.loss < bucket.low.loss) bucket.low = next.low;
      if (next.high.loss > bucket.high.loss) bucket.high = next.high;
      bucket.count += next.count;
    }
    buckets_[kept++] = bucket;
  }
  buckets_.resize(kept);
  stride_ *= 2;
}

void LossCurve::drop_from(std::int64_t step) {
  while (!buckets_.empty() && std::min(buckets_.back().low.step, buckets_.back().high.step) >= step)
    buckets_.pop_back();
  if (!buckets_.empty()) {
    auto& bucket = buckets_.back();
    if (bucket.low.step >= step) bucket.low = bucket.high;
    if (bucket.high.step >= step) bucket.high = bucket.low;
  }
  if (first_ && first_->step >= step) first_.reset();
  if (lost_ && lost_->step >= step) lost_.reset();
  if (last_ && last_->step >= step) {
    last_.reset();
    if (!buckets_.empty())
      last_ = std::max(buckets_.back().low, buckets_.back().high,
                       [](const auto& a, const auto& b) { return a.step < b.step; });
  }
}

std::vector<record::LossPoint> LossCurve::points() const {
  std::vector<record::LossPoint> out;
  if (first_) out.push_back(*first_);
  for (const auto& bucket : buckets_) {
    out.push_back(bucket.low);
    out.push_back(bucket.high);
  }
  if (last_) out.push_back(*last_);
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.step < b.step; });
  out.erase(std::unique(out.begin(), out.end(),
                        [](const auto& a, const auto& b) { return a.step == b.step; }),
            out.end());
  return out;
}

}  // namespace orch::ingest
