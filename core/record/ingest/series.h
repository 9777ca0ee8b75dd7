#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/record/record.h"
#include "core/record/statistics/steps.h"

namespace orch::ingest {

inline constexpr std::size_t kMostSteps = 65'536;
inline constexpr std::size_t kMostSlow = 20;
inline constexpr std::size_t kMostBuckets = 998;  // each has one or two points of the curve

// A sample of values for a median: all values up to a limit, then every second, every fourth, …
class SampleReservoir {
 public:
  explicit SampleReservoir(std::size_t most = 4096) : most_(most) {}
  void add(double value, std::int64_t step = -1);
  bool empty() const { return values_.empty(); }
  double median() const;  // must not be empty
  // The median over the steps for which `counts` is true, or over all if there are none. The sample
  // must not be empty.
  double median(const std::function<bool(std::int64_t)>& counts) const;

 private:
  std::size_t most_;
  std::uint64_t seen_ = 0, stride_ = 1;
  std::vector<double> values_;
  std::vector<std::int64_t> steps_;  // of values_
};

// The times of steps in order: all of them up to kMostSteps, then every second, every fourth, ….
// The slowest steps are always kept.
class LoggedStepTimes {
 public:
  // The mark is a hash of the other values of the line. It identifies a copy of the line.
  void add(const statistics::TimedStep& step, std::uint32_t mark = 0);
  // Removes the steps from this one on, because they are done again.
  void drop_from(std::int64_t step);
  void clear() { *this = LoggedStepTimes(); }
  void scale(double factor);

  const std::vector<statistics::TimedStep>& steps() const { return steps_; }
  const std::vector<statistics::TimedStep>& slowest() const { return slowest_; }
  std::uint64_t seen() const { return seen_; }
  std::uint64_t stride() const { return stride_; }
  struct Kept {
    double seconds = 0;
    std::uint32_t mark = 0;
    bool operator==(const Kept&) const = default;
  };
  std::optional<Kept> kept(std::int64_t step) const;  // nothing if the step was not kept

 private:
  void keep_if_slow(const statistics::TimedStep& step);

  std::vector<statistics::TimedStep> steps_, slowest_;
  std::vector<std::uint32_t> marks_;  // of steps_
  double least_slow_ = 0;             // shortest time in slowest_ once it is full
  std::uint64_t seen_ = 0, stride_ = 1;
};

// Computes the time of a step from the moments at which steps were reported: the dates of lines or
// the elapsed time of a progress bar. Such clocks are coarse, so a time is taken only between two
// moments that are at least 50 ticks apart, for an error of at most 2 %.
class LogStopwatch {
 public:
  // A step was done at this time of a clock with this resolution, both in seconds.
  void tell(std::int64_t step, double seconds, double tick);
  // The next moment is the first one after a restart.
  void start() { begun_ = false; }
  void drop_from(std::int64_t step);
  void clear() { *this = LogStopwatch(); }

  // The times of steps, each a mean since the previous one. If no two moments are far enough apart,
  // the only time is the mean over all steps.
  LoggedStepTimes times() const;
  bool empty() const { return last_step_ <= first_step_; }
  bool coarse() const { return tick_ >= 1; }

 private:
  LoggedStepTimes times_;
  std::int64_t from_step_ = 0, first_step_ = 0, last_step_ = 0;
  double from_ = 0, first_ = 0, last_ = 0, tick_ = 0;
  bool begun_ = false;
};

// A loss curve of about 2,000 points at most: the lowest and the highest loss of each interval.
class LossCurve {
 public:
  void add(const record::LossPoint& point);  // a loss that is not finite adds no point
  void drop_from(std::int64_t step);

  // The first of the non-finite losses at the end; nothing if the last loss is finite.
  std::optional<record::LossPoint> lost() const { return lost_; }
  std::vector<record::LossPoint> points() const;
  std::optional<record::LossPoint> first() const { return first_; }
  std::optional<record::LossPoint> last() const { return last_; }

 private:
  struct Bucket {
    record::LossPoint low, high;
    std::uint64_t count = 0;
  };
  void halve();

  std::vector<Bucket> buckets_;
  std::optional<record::LossPoint> first_, last_, lost_;
  std::uint64_t stride_ = 1;
};

}  // namespace orch::ingest
