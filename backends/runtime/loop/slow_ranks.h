#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace orch::train {

// A rank that computes longer than the others with the same work, or no longer does.
struct SlowRank {
  std::size_t rank = 0;
  double seconds = 0, typical = 0;  // of computing in a step, without waiting for others
  std::int64_t since = 0;           // step
  bool over = false;
};

// For tests: ORCH_TEST_SLOW_RANK="3:1.2" makes rank 3 compute 1.2 times as long. Returns 0.2 there,
// else 0.
double test_slowdown(int rank);

// Compares ranks of the same group (a pipeline stage). A few long steps are noise: the median of
// the last looks counts.
class SlowRanks {
 public:
  explicit SlowRanks(std::vector<std::int64_t> groups) : ranks_(groups.size()) {
    for (std::size_t i = 0; i < groups.size(); ++i) ranks_[i].group = groups[i];
  }

  // The seconds of computing of each rank in this step. Returns what changed, and now and then what
  // is still so.
  std::vector<SlowRank> look(std::int64_t step, const std::vector<double>& seconds);

 private:
  struct Rank {
    std::int64_t group = 0;
    std::deque<double> last = {};
    double median = 0;
    std::int64_t since = -1;  // slow since this step; -1: it is not
    std::size_t looks = 0;    // since then
  };
  double typical(const Rank& of) const;

  std::vector<Rank> ranks_;
  std::deque<std::int64_t> steps_;  // of the last looks
};

}  // namespace orch::train
