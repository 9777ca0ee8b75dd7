#include "core/price/calibrate/solve.h"

#include "tests/test.h"

using orch::calibrate::Problem;
using orch::calibrate::solve;

namespace {

constexpr double kAnything = 1e6;  // a doubt so large that there is no prior

// residual = slope * unknown - target, one row of slopes per residual.
Problem linear(std::vector<std::vector<double>> slopes, std::vector<double> targets,
               std::vector<double> doubt) {
  Problem problem;
  problem.unknowns = doubt.size();
  problem.doubt = std::move(doubt);
  problem.weights.assign(targets.size(), 1);
  problem.residuals = [=](const std::vector<double>& point, const orch::calibrate::RowNumbers& rows,
                          std::vector<double>& out) {
    for (const auto i : rows) {
      out[i] = -targets[i];
      for (std::size_t k = 0; k < point.size(); ++k) out[i] += slopes[i][k] * point[k];
    }
  };
  return problem;
}

// The number of unknowns that the residuals rather than the doubts determine.
double decided(const orch::calibrate::Solution& found) {
  return std::accumulate(found.leverage.begin(), found.leverage.end(), 0.0);
}

}  // namespace

// Through (0, 1), (1, 3), (2, 4), (3, 4): the mean is (1.5, 3), Sxy = 5 and Sxx = 5, so y = 1.5 +
// x. In thousandths, where the loss is still a square.
TEST_CASE("a straight line is the least-squares one", "[fit][solve]") {
  const auto found = solve(
      linear({{1, 0}, {1, 1}, {1, 2}, {1, 3}}, {1e-3, 3e-3, 4e-3, 4e-3}, {kAnything, kAnything}));
  REQUIRE(found.point.size() == 2);
  CHECK(found.point[0] == Approx(1.5e-3).epsilon(1e-3));
  CHECK(found.point[1] == Approx(1e-3).epsilon(1e-3));
  CHECK(decided(found) == Approx(2).epsilon(1e-3));
}

TEST_CASE("an answer that is many steps away is reached", "[fit][solve]") {
  const auto found = solve(linear({{1, 1}, {1, -1}}, {2.5, 6.5}, {kAnything, kAnything}));
  CHECK(found.point[0] == Approx(4.5).epsilon(1e-3));
  CHECK(found.point[1] == Approx(-2).epsilon(1e-3));
}

// (2x - 2t)^2 + (x / 0.5)^2 has its least value where 4(x - t) + 4x = 0.
TEST_CASE("a doubt holds an unknown back", "[fit][solve]") {
  const double t = 1e-3;
  const auto found = solve(linear({{2}}, {2 * t}, {0.5}));
  CHECK(found.point[0] == Approx(t / 2).epsilon(1e-3));
  CHECK(decided(found) == Approx(0.5).epsilon(1e-3));
}

// Weights 1 and 3 of x = 0 and x = t: 9t / (1 + 9).
TEST_CASE("a residual counts with the square of its weight", "[fit][solve]") {
  const double t = 1e-3;
  auto problem = linear({{1}, {1}}, {0, t}, {kAnything});
  problem.weights = {1, 3};
  CHECK(solve(problem).point[0] == Approx(0.9 * t).epsilon(1e-3));
}

// Nine of ten residuals are 0.1, one is 50: the mean would be 5.09. The outlier pulls with 50 / (1
// + 50^2) = 0.02, a ninth of which moves each of the others.
TEST_CASE("an outlier hardly moves the answer", "[fit][solve]") {
  std::vector<double> targets(9, 0.1);
  targets.push_back(50);
  const auto found = solve(linear(std::vector<std::vector<double>>(10, {1}), targets, {10}));
  // Nine pull with x - 0.1 each, the outlier with 1 / 50, the doubt with -x / 100.
  CHECK(found.point[0] == Approx(0.1 + (0.02 - 0.001) / 9).epsilon(0.001));
}

// Leverage with slopes 1, 2, 2 and a doubt of 1/3: 9 / (9 + 9). All residuals are 0 at the answer.
TEST_CASE("what is decided is the leverage of the residuals", "[fit][solve]") {
  auto problem = linear({{1}, {2}, {2}}, {0, 0, 0}, {1 / 3.0});
  CHECK(decided(solve(problem)) == Approx(0.5));
  problem.weights = {1, 1, 0};  // 5 / (5 + 9)
  CHECK(decided(solve(problem)) == Approx(5 / 14.0));
  // At +-1, a residual is trusted half as much: 2 / (2 + 9) from four of slope 1.
  CHECK(decided(solve(linear({{1}, {1}, {1}, {1}}, {1, 1, -1, -1}, {1 / 3.0}))) ==
        Approx(2 / 11.0).epsilon(1e-3));
}

TEST_CASE("an unknown that no residual depends on stays where it was", "[fit][solve]") {
  const auto found = solve(linear({{1, 0}, {1, 0}}, {1e-3, 1e-3}, {kAnything, 0.5}));
  CHECK(found.point[0] == Approx(1e-3).epsilon(1e-3));
  CHECK(found.point[1] == 0);
  CHECK(decided(found) == Approx(1).epsilon(1e-3));
}

TEST_CASE("without residuals nothing moves and nothing is decided", "[fit][solve]") {
  const auto found = solve(linear({}, {}, {0.2, 0.5}));
  CHECK(found.point == std::vector<double>{0, 0});
  CHECK(decided(found) == 0);
}

TEST_CASE("without unknowns there is nothing to solve", "[fit][solve]") {
  const auto found = solve(linear({{}, {}}, {1, 2}, {}));
  CHECK(found.point.empty());
  CHECK(decided(found) == 0);
}
