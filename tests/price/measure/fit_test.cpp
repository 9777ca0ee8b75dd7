#include "core/price/measure/partition.h"
#include "tests/test.h"

namespace orch::measure {
namespace {

TEST_CASE("a line is found in the points that lie on it", "[machine]") {
  std::vector<MeasuredPoint> points;
  for (const double x : {1e3, 1e5, 1e7}) points.push_back({x, 5e-5 + x * 2e-9});
  const auto line = fit_line(points);
  CHECK(line.fixed == Approx(5e-5));
  CHECK(line.per_unit == Approx(2e-9));
}

// Absolute errors would let the largest point decide alone: its 10 % are a hundred times the first.
TEST_CASE("small times count as much as large ones", "[machine]") {
  std::vector<MeasuredPoint> points{{0, 1e-4}, {1, 1e-4}, {2, 1e-4}, {1e6, 1.1e-2}};
  CHECK(fit_line(points).fixed == Approx(1e-4).epsilon(1e-3));
}

TEST_CASE("no part of a line is negative", "[machine]") {
  const std::vector<MeasuredPoint> convex{{1, 1}, {2, 3}, {3, 6}};
  CHECK(fit_line(convex).fixed == 0);
  CHECK(fit_line(convex).per_unit > 0);
  const std::vector<MeasuredPoint> falling{{1, 3}, {2, 2}, {3, 1}};
  CHECK(fit_line(falling).per_unit == 0);
  CHECK(fit_line(falling).fixed > 0);
}

TEST_CASE("one point is all per unit, and so are points at one place", "[machine]") {
  CHECK(fit_line(std::vector<MeasuredPoint>{{10, 5}}).fixed == 0);
  CHECK(fit_line(std::vector<MeasuredPoint>{{10, 5}}).per_unit == Approx(0.5));
  CHECK(fit_line(std::vector<MeasuredPoint>{{10, 5}, {10, 5}}).per_unit == Approx(0.5));
}

// n ranks: 2 levels(n) latencies and 2 (n - 1) / n of the bytes; 4 ranks have two levels.
std::vector<MeasuredPoint> all_reduces(double latency, double bandwidth, double hops,
                                       double factor) {
  std::vector<MeasuredPoint> out;
  for (double bytes = 4096; bytes <= 64 << 20; bytes *= 4)
    out.push_back({bytes, hops * latency + factor * bytes / bandwidth});
  return out;
}

TEST_CASE("latency and bandwidth of all-reduces are found again", "[machine]") {
  const auto two = fit_all_reduce(all_reduces(40e-6, 1.5e9, 2, 1), 2);
  CHECK(two.latency == Approx(40e-6));
  CHECK(two.bandwidth == Approx(1.5e9));
  const auto four = fit_all_reduce(all_reduces(40e-6, 1.5e9, 4, 1.5), 4);
  CHECK(four.latency == Approx(40e-6));
  CHECK(four.bandwidth == Approx(1.5e9));
}

TEST_CASE("noise of ten percent moves latency and bandwidth by as much", "[machine]") {
  auto noisy = all_reduces(40e-6, 1.5e9, 2, 1);
  for (std::size_t i = 0; i < noisy.size(); ++i) noisy[i].seconds *= i % 2 == 0 ? 1.1 : 0.9;
  const auto fit = fit_all_reduce(noisy, 2);
  CHECK(fit.latency == Approx(40e-6).epsilon(0.12));
  CHECK(fit.bandwidth == Approx(1.5e9).epsilon(0.12));
}

TEST_CASE("the best rate is that of the fastest product", "[machine]") {
  const std::vector<MeasuredProduct> products{{"fp32", 100, 100, 100, 1, 1e-3},   // 2 GFLOP/s
                                              {"fp32", 100, 100, 100, 4, 1e-3}};  // 8 GFLOP/s
  CHECK(best_rate(products) == Approx(8e9));
}

}  // namespace
}  // namespace orch::measure
