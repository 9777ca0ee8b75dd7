#include "backends/runtime/loop/slow_ranks.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/base/median.h"

namespace orch::train {
namespace {

constexpr std::size_t kLooks = 5;            // that decide
constexpr std::size_t kRepeat = 3;           // looks after which it is told again
constexpr double kSlow = 1.1, kFine = 1.05;  // times the others' seconds

}  // namespace

double test_slowdown(int rank) {
  const char* text = std::getenv("ORCH_TEST_SLOW_RANK");
  int which = -1;
  double factor = 1;
  if (text == nullptr || std::sscanf(text, "%d:%lf", &which, &factor) != 2) return 0;
  return which == rank ? factor - 1 : 0;
}

// The median of the others of its group; 0: it is alone.
double SlowRanks::typical(const Rank& of) const {
  std::vector<double> others;
  for (const auto& rank : ranks_)
    if (&rank != &of && rank.group == of.group) others.push_back(rank.median);
  return others.empty() ? 0 : median(std::move(others));
}

std::vector<SlowRank> SlowRanks::look(std::int64_t step, const std::vector<double>& seconds) {
  steps_.push_back(step);
  if (steps_.size() > kLooks) steps_.pop_front();
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    auto& rank = ranks_[i];
    rank.last.push_back(seconds[i]);
    if (rank.last.size() > kLooks) rank.last.pop_front();
    rank.median = median({rank.last.begin(), rank.last.end()});
  }
  std::vector<SlowRank> out;
  if (steps_.size() < kLooks) return out;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    auto& rank = ranks_[i];
    const double others = typical(rank);
    if (!(others > 0)) continue;
    const bool was = rank.since >= 0;
    const bool is = rank.median > (was ? kFine : kSlow) * others;
    if (is && !was) {
      rank.since = steps_.front();
      rank.looks = 0;
    }
    if (is != was || (is && ++rank.looks % kRepeat == 0))
      out.push_back({i, rank.median, others, rank.since, !is});
    if (!is) rank.since = -1;
  }
  return out;
}

}  // namespace orch::train
