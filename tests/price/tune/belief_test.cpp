#include "core/price/tune/belief.h"

#include <cmath>

#include "core/price/tune/replay.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::tune;

namespace {

const int kHere = 0, kThere = 0;  // machines

TuneCandidate candidate(double time, double place, const void* machine = &kHere,
                        double spread = 0.2) {
  return {{time, spread, machine, 1}, {place}};
}

double normal_share(double x) { return std::erfc(-x / std::sqrt(2)) / 2; }

// The mean of the best of every subset of `drawn` times.
double least_by_hand(const std::vector<double>& times, int drawn) {
  double sum = 0;
  int subsets = 0;
  for (unsigned set = 0; set < 1u << times.size(); ++set) {
    if (__builtin_popcount(set) != drawn) continue;
    double least = 1e300;
    for (std::size_t i = 0; i < times.size(); ++i)
      if (set >> i & 1) least = std::min(least, times[i]);
    sum += least;
    ++subsets;
  }
  return sum / subsets;
}

}  // namespace

TEST_CASE("without measurements the estimates and their ranges are believed", "[tune]") {
  const auto belief = believe({candidate(2, 0), candidate(3, 40)}, {});
  CHECK(belief.best == 0);
  CHECK(belief.next == 0u);
  CHECK(belief.times[1].time == Approx(3));
  CHECK(belief.times[1].low == Approx(3 * std::exp(-0.2)));
  CHECK(belief.times[1].high == Approx(3 * std::exp(0.2)));
}

TEST_CASE("a measurement corrects the estimates of its machine, and no others", "[tune]") {
  const auto belief =
      believe({candidate(1, 0), candidate(1.2, 40), candidate(1.1, 0, &kThere)}, {{0, 1.3}});
  CHECK(belief.times[0].time == Approx(1.3).epsilon(0.01));
  CHECK(belief.times[1].time > 1.2 * 1.2);
  CHECK(belief.times[1].time < 1.3 * 1.2);
  CHECK(belief.times[2].time == Approx(1.1));
}

TEST_CASE("layouts that are alike are corrected more", "[tune]") {
  const auto belief = believe({candidate(1, 0), candidate(1, 1), candidate(1, 40)}, {{0, 1.3}});
  CHECK(belief.times[1].time > 1.02 * belief.times[2].time);
}

TEST_CASE("the expected regret is that of two normal distributions", "[tune]") {
  // On one machine, in one stack and far from each other only the own errors differ: 0.35 of the
  // spread of each, as half of a 90 % range.
  const double own = 0.35 * 0.2 / 1.645, deviation = own * std::sqrt(2.0), lead = std::log(1.04);
  const double by_hand = std::exp(-lead + deviation * deviation / 2) *
                             normal_share((-lead + deviation * deviation) / deviation) -
                         normal_share(-lead / deviation);
  const auto belief = believe({candidate(1, 0), candidate(1.04, 40)}, {});
  CHECK(belief.regret == Approx(by_hand).epsilon(0.15));
  CHECK(belief.times[1].chance == Approx(normal_share(-lead / deviation)).margin(0.04));
}

TEST_CASE("the best is known after three measurements at the earliest", "[tune]") {
  const std::vector<TuneCandidate> all{candidate(1, 0), candidate(3, 0), candidate(4, 0),
                                       candidate(5, 0)};
  std::vector<MeasuredTime> measured{{0, 1.0}, {1, 3.0}};
  CHECK_FALSE(is_known(believe(all, measured), measured, {}));
  measured.push_back({2, 4.0});
  CHECK(is_known(believe(all, measured), measured, {}));
}

TEST_CASE("what was measured is not asked for again", "[tune]") {
  const std::vector<TuneCandidate> all{candidate(1, 0), candidate(1, 0)};
  const std::vector<MeasuredTime> measured{{0, 1.0}, {1, 1.0}};
  const auto belief = believe(all, measured);
  CHECK_FALSE(belief.next.has_value());
  CHECK(is_known(belief, measured, {}));
}

TEST_CASE("a family of layouts that is faster than estimated is found", "[tune]") {
  std::vector<TuneCandidate> candidates;
  std::vector<double> times;
  for (int i = 0; i < 20; ++i) {
    const bool is_fast = i >= 14;
    const double estimate = 1 + 0.008 * i;
    candidates.push_back(candidate(estimate, is_fast ? 20 + i * 0.1 : i * 0.1, &kHere, 0.3));
    times.push_back(estimate * (is_fast ? 0.9 : 1.05));
  }
  const auto found = replay(candidates, times, {.regret = 0.002});
  CHECK(found.regret <= 0.005);
  CHECK(found.measured.size() <= 8);
  CHECK(found.needed <= 8);
  CHECK(found.needed_estimate == 15);
  CHECK(found.regret_estimate == Approx(1.05 / (0.9 * 1.112) - 1));
}

TEST_CASE("what random choices would cost is counted over all of them", "[tune]") {
  const std::vector<double> times{5, 3, 4, 8, 3.05, 6};
  std::vector<TuneCandidate> candidates;
  for (std::size_t i = 0; i < times.size(); ++i)
    candidates.push_back(candidate(times[i], static_cast<double>(i)));
  const auto found = replay(candidates, times, {.regret = 0.02, .measured = 3});
  REQUIRE(found.measured.size() == 3);
  CHECK(found.regret_random == Approx(least_by_hand(times, 3) / 3 - 1));
  CHECK(found.needed_random == Approx(7.0 / 3));  // two of six are good: (6 + 1) / (2 + 1)
}
