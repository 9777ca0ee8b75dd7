#include <numbers>

#include "core/base/counter_random.h"
#include "core/record/statistics/interval.h"
#include "tests/test.h"

// How often 95 % limits contain the true value, counted on samples with a known one.
namespace orch::statistics {
namespace {

constexpr int kTrials = 4000;  // the error of a coverage of 95 % is 0.35

// The random numbers of one trial.
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t key) : key_(key) {}

  double uniform() {  // without 0 and 1
    return (static_cast<double>(counter_random::bits(key_, next_++) >> 11) + 0.5) * 0x1p-53;
  }
  double normal() {  // Box-Muller transform
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t key_, next_ = 0;
};

std::vector<double> sample(int n, const std::function<double()>& draw) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(draw());
  return values;
}

// Each value is r times the previous one plus noise.
std::vector<double> series(int n, double r, RandomStream& stream) {
  double x = stream.normal();
  return sample(n, [&] {
    x = r * x + std::sqrt(1 - r * r) * stream.normal();
    return 100 + x;
  });
}

using Make = std::function<Interval(RandomStream&)>;

// In percent.
double coverage(double truth, const Make& make) {
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    RandomStream stream(counter_random::combine(counter_random::key_of("coverage"), trial));
    const auto found = make(stream);
    held += found.has_limits() && *found.low <= truth && truth <= *found.high;
  }
  return 100.0 * held / kTrials;
}

TEST_CASE("limits of a median hold on any distribution", "[statistics][coverage]") {
  for (const int n : {3, 5, 6, 10, 20, 50, 200}) {
    CAPTURE(n);
    const double normal = coverage(10, [&](RandomStream& stream) {
      return median_interval(sample(n, [&] { return 10 + stream.normal(); }));
    });
    const double exponential = coverage(std::numbers::ln2, [&](RandomStream& stream) {
      return median_interval(sample(n, [&] { return -std::log(stream.uniform()); }));
    });
    const double lognormal = coverage(1, [&](RandomStream& stream) {
      return median_interval(sample(n, [&] { return std::exp(stream.normal()); }));
    });
    for (const double found : {normal, exponential, lognormal}) {
      CHECK(found > 93);
      CHECK(found < 99);
    }
  }
}

TEST_CASE("limits of a median hold where neighbours are alike", "[statistics][coverage]") {
  for (const int n : {30, 100, 300}) {
    CAPTURE(n);
    const double found = coverage(
        100, [&](RandomStream& stream) { return median_interval(series(n, 0.5, stream)); });
    CHECK(found > 93);
    CHECK(found < 99);
  }
  CHECK(coverage(100, [](RandomStream& stream) {
          return median_interval(series(100, 0.8, stream));
        }) > 93);
}

TEST_CASE("without the correction limits would not hold where neighbours are alike",
          "[statistics][coverage]") {
  // The same values in an order that hides their correlation: every 61st of 300.
  const double found = coverage(100, [](RandomStream& stream) {
    const auto values = series(300, 0.5, stream);
    auto mixed = values;
    for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] = values[i * 61 % values.size()];
    return median_interval(mixed);
  });
  CHECK(found < 88);
}

TEST_CASE("limits of repeats and of a ratio hold", "[statistics][coverage]") {
  const auto repeats = [](RandomStream& stream, int n, double middle) {
    return sample(n, [&stream, middle] { return middle * std::exp(0.05 * stream.normal()); });
  };
  for (const int n : {2, 3, 5, 20}) {
    CAPTURE(n);
    const double alone =
        coverage(7, [&](RandomStream& stream) { return repeats_interval(repeats(stream, n, 7)); });
    CHECK(alone > 93);
    CHECK(alone < 97);
    const double both = coverage(3.5, [&](RandomStream& stream) {
      const auto over = repeats_interval(repeats(stream, n, 7));
      return ratio(over, repeats_interval(repeats(stream, 2 * n, 2)));
    });
    CHECK(both > 93);
    CHECK(both < 99);
    const double medians = coverage(3.5, [&](RandomStream& stream) {
      const auto over = median_interval(repeats(stream, 10 * n, 7));
      return ratio(over, median_interval(repeats(stream, 10 * n, 2)));
    });
    CHECK(medians > 93);
    CHECK(medians < 99);
  }
}

}  // namespace
}  // namespace orch::statistics
