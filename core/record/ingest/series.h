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
inline constexpr std::size_t kMostBuckets = 998;  // each a point or two of the curve

// Values of which a median will be asked: all of them up to a limit, then every second, fourth, …
class SampleReservoir {
 public:
  explicit SampleReservoir(std::size_t most = 4096) : most_(most) {}
  void add(double value, std::int64_t step = -1);
  bool empty() const { return values_.empty(); }
  double median() const;  // not empty
  // Of the steps that count, or of all where none does; not empty.
  double median(const std::function<bool(std::int64_t)>& counts) const;

 private:
  std::size_t most_;
  std::uint64_t seen_ = 0, stride_ = 1;
  std::vector<double> values_;
  std::vector<std::int64_t> steps_;  // of values_
};

// The times of steps in order: all of them up to kMostSteps, then every second, fourth, …, and the
// slowest ones always.
class LoggedStepTimes {
 public:
  // The mark is what else its line said: by it a line is known again.
  void add(const statistics::TimedStep& step, std::uint32_t mark = 0);
  // The steps from this one on are done again.
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
  std::optional<Kept> kept(std::int64_t step) const;  // nothing: not among them

 private:
  void keep_if_slow(const statistics::TimedStep& step);

  std::vector<statistics::TimedStep> steps_, slowest_;
  std::vector<std::uint32_t> marks_;  // of steps_
  double least_slow_ = 0;             // of the slowest, once there are kMostSlow
  std::uint64_t seen_ = 0, stride_ = 1;
};

// The time of steps by when each was told: dates of lines, what a progress bar has counted. Clocks
// are coarse, so moments are joined until what lies between them is long beside a tick: to 2 %.
class LogStopwatch {
 public:
  // A step was done at this moment of a clock that goes on by so much.
  void tell(std::int64_t step, double seconds, double tick);
  // The next moment is the first of another start.
  void start() { begun_ = false; }
  void drop_from(std::int64_t step);
  void clear() { *this = LogStopwatch(); }

  // Times of steps, each the mean since the one before. Where no two moments are far enough apart,
  // the mean of them all.
  LoggedStepTimes times() const;
  bool empty() const { return last_step_ <= first_step_; }
  bool coarse() const { return tick_ >= 1; }

 private:
  LoggedStepTimes times_;
  std::int64_t from_step_ = 0, first_step_ = 0, last_step_ = 0;
  double from_ = 0, first_ = 0, last_ = 0, tick_ = 0;
  bool begun_ = false;
};

// A loss curve in at most some 2,000 points: of each stretch of steps the lowest and the highest.
class LossCurve {
 public:
  void add(const record::LossPoint& point);  // one that is not finite is no point
  void drop_from(std::int64_t step);

  // The first of those at the end that are not finite; nothing: the last one is.
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
