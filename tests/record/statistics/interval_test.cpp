#include "core/record/statistics/interval.h"

#include "tests/test.h"

namespace orch::statistics {
namespace {

// 1 to n with dissimilar neighbours: 1, n, 2, n - 1, ... The k-th order statistic is k.
std::vector<double> alternating(int n) {
  std::vector<double> values;
  for (int low = 1, high = n; low <= high; ++low, --high) {
    values.push_back(low);
    if (low != high) values.push_back(high);
  }
  return values;
}

Interval limits(double low, double value, double high, std::size_t n) {
  return {value, low, high, n};
}

TEST_CASE("medians and quantiles interpolate", "[statistics][interval]") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(median({7}) == 7);
  CHECK(quantile({0, 10}, 0.9) == Approx(9));
  CHECK(quantile({5, 1, 4, 2, 3}, 0) == 1);
  CHECK(quantile({5, 1, 4, 2, 3}, 1) == 5);
  CHECK(quantile({5, 1, 4, 2, 3}, 0.25) == 2);
}

TEST_CASE("a spread is 1.4826 times the median distance from the median",
          "[statistics][interval]") {
  // Median 2; the distances 1 1 0 0 2 4 7 have the median 1.
  CHECK(spread({1, 1, 2, 2, 4, 6, 9}) == Approx(1.4826));
  CHECK(spread({3, 3, 3, 100}) == 0);
}

TEST_CASE("the limits of a median are the ranks of the binomial tables", "[statistics][interval]") {
  const struct {
    int n, low, high;
  } published[] = {{6, 1, 6},    {7, 1, 7},    {8, 1, 8},    {9, 2, 8},     {10, 2, 9},
                   {12, 3, 10},  {15, 4, 12},  {17, 5, 13},  {20, 6, 15},   {25, 8, 18},
                   {30, 10, 21}, {40, 14, 27}, {50, 18, 33}, {100, 40, 61}, {1000, 469, 532}};
  for (const auto& row : published) {
    CAPTURE(row.n);
    const auto found = median_interval(alternating(row.n));
    CHECK(found.value == Approx((row.n + 1) / 2.0));
    CHECK(found.n == static_cast<std::size_t>(row.n));
    REQUIRE(found.has_limits());
    CHECK(*found.low == row.low);
    CHECK(*found.high == row.high);
  }
}

TEST_CASE("one measurement has no limits", "[statistics][interval]") {
  const auto one = median_interval({3.5});
  CHECK(one.value == 3.5);
  CHECK(one.n == 1);
  CHECK_FALSE(one.low);
  CHECK_FALSE(one.high);
  CHECK(median_interval({}).n == 0);
  CHECK_FALSE(repeats_interval({3.5}).has_limits());
  CHECK(repeats_interval({}).n == 0);
}

TEST_CASE("few measurements have Student's limits, by hand", "[statistics][interval]") {
  // e^0 and e^0.2: deviation 0.141421, over sqrt(2) 0.1; 12.7062 * 0.1 = 1.27062.
  const auto two = median_interval({1.0, std::exp(0.2)});
  const double middle = (1 + std::exp(0.2)) / 2;
  CHECK(two.value == Approx(middle));
  CHECK(*two.low == Approx(middle * std::exp(-1.27062)).epsilon(1e-5));
  CHECK(*two.high == Approx(middle * std::exp(1.27062)).epsilon(1e-5));
  // -1, 0, 1 are not positive, so no logarithms are used: deviation 1, over sqrt(3) 0.57735; a
  // median of three is 1.1602 times as uncertain as their mean; 4.30265 * 0.57735 * 1.1602.
  const auto three = median_interval({-1, 0, 1});
  CHECK(*three.low == Approx(-2.8821).epsilon(1e-4));
  CHECK(*three.high == Approx(2.8821).epsilon(1e-4));
}

TEST_CASE("neighbours that are alike widen the limits", "[statistics][interval]") {
  std::vector<double> slow_wave;
  for (int i = 0; i < 100; ++i) slow_wave.push_back(10 + std::sin(i / 5.0));
  auto mixed = slow_wave;
  for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] = slow_wave[i * 37 % 100];
  const auto alike = median_interval(slow_wave), apart = median_interval(mixed);
  CHECK(alike.value == apart.value);
  CHECK(*alike.high - *alike.low > 1.5 * (*apart.high - *apart.low));
}

TEST_CASE("equal measurements have equal limits", "[statistics][interval]") {
  for (const std::size_t n : {2, 5, 6, 100}) {
    const auto found = median_interval(std::vector<double>(n, 4.25));
    CHECK(found.value == 4.25);
    CHECK(*found.low == Approx(4.25));
    CHECK(*found.high == Approx(4.25));
  }
}

TEST_CASE("what is not finite does not count", "[statistics][interval]") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto found = median_interval({kNan, 2, kInf, -kInf});
  CHECK(found.value == 2);
  CHECK(found.n == 1);
  CHECK(median_interval({1e-300, 1e300}).n == 2);
  CHECK_FALSE(median_interval({1e-300, 1e300}).has_limits());
  CHECK(repeats_interval({kNan, 2, 0, -1}).n == 1);
  CHECK_FALSE(repeats_interval({1e-300, 1e300}).has_limits());
}

TEST_CASE("repeats have a geometric mean and Student's limits on logarithms",
          "[statistics][interval]") {
  // Logarithms of 1, 10, 100 in tens: 0, 1, 2; deviation 1; 4.30265 / sqrt(3) = 2.48414 tens.
  const auto found = repeats_interval({100, 1, 10});
  CHECK(found.n == 3);
  CHECK(found.value == Approx(10));
  CHECK(*found.low == Approx(10 / std::pow(10, 2.48414)).epsilon(1e-4));
  CHECK(*found.high == Approx(10 * std::pow(10, 2.48414)).epsilon(1e-4));
}

TEST_CASE("a ratio has the limits of both, by hand", "[statistics][interval]") {
  // In twos: a = 2^3, limits 2^2 and 2^7; b = 2^1, limits 2^-3 and 2^1. Low: 3 - 1 less
  // sqrt(1^2 + 0^2) = 1; high: 2 plus sqrt(4^2 + 4^2) = 5.6569.
  const auto found = ratio(limits(4, 8, 128, 9), limits(0.125, 2, 2, 5));
  CHECK(found.value == 4);
  CHECK(found.n == 5);
  CHECK(*found.low == Approx(2));
  CHECK(*found.high == Approx(4 * std::pow(2, std::sqrt(32))));
}

TEST_CASE("a ratio to something exact is the interval itself, and its inverse turns round",
          "[statistics][interval]") {
  const auto a = limits(6, 8, 12, 9), two = limits(2, 2, 2, 9);
  CHECK(*ratio(a, two).low == Approx(3));
  CHECK(*ratio(a, two).high == Approx(6));
  CHECK(*ratio(two, a).low == Approx(2.0 / 12));
  CHECK(*ratio(two, a).high == Approx(2.0 / 6));
}

TEST_CASE("a ratio has no limits where one side has none", "[statistics][interval]") {
  const auto a = limits(6, 8, 12, 9), zero = limits(0, 1, 2, 9);
  const Interval one{2, {}, {}, 1};
  CHECK(ratio(a, one).value == 4);
  CHECK_FALSE(ratio(a, one).has_limits());
  CHECK_FALSE(ratio(one, a).has_limits());
  CHECK_FALSE(ratio(a, zero).has_limits());
}

TEST_CASE("limits of many values that are alike stay within what was seen") {
  // Two levels, one after the other: neighbours are so similar that the values count as few.
  std::vector<double> values(12, 1.0);
  values.insert(values.end(), 12, 2.0);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.001 * static_cast<double>(i);
  const auto interval = median_interval(values);
  REQUIRE(interval.has_limits());
  CHECK(*interval.low == values.front());
  CHECK(*interval.high == values.back());
}

}  // namespace
}  // namespace orch::statistics
