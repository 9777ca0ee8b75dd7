#include "core/fit/solve.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace orch::fit {
namespace {

using Vector = std::vector<double>;

constexpr double kStep = 1e-4;  // of the numeric derivatives
constexpr int kIterations = 40;
constexpr double kScale = 1;  // beyond so many of its spreads, a residual counts as an outlier

// Gaussian elimination with pivoting; the matrix is small and positive definite.
Vector linear_solve(std::vector<Vector> a, Vector b) {
  const std::size_t n = b.size();
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < n; ++row)
      if (std::fabs(a[row][column]) > std::fabs(a[pivot][column])) pivot = row;
    std::swap(a[column], a[pivot]);
    std::swap(b[column], b[pivot]);
    for (std::size_t row = column + 1; row < n; ++row) {
      const double factor = a[row][column] / a[column][column];
      for (std::size_t k = column; k < n; ++k) a[row][k] -= factor * a[column][k];
      b[row] -= factor * b[column];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

class Solver {
 public:
  explicit Solver(const Problem& problem)
      : problem_(problem), point_(problem.unknowns, 0), residuals_(problem.weights.size()) {}

  void descend(double scale) {
    scale_ = scale;
    double damping = 1e-3;
    problem_.residuals(point_, residuals_);
    cost_ = cost_of(point_, residuals_);
    for (int i = 0; i < kIterations && damping < 1e6; ++i) {
      differentiate();
      Vector next = point_, residuals(residuals_.size());
      const Vector step = step_of(damping);
      for (std::size_t k = 0; k < next.size(); ++k) next[k] += std::clamp(step[k], -1.0, 1.0);
      problem_.residuals(next, residuals);
      const double next_cost = cost_of(next, residuals);
      if (!(next_cost < cost_)) {
        damping *= 10;
        continue;
      }
      const bool done = cost_ - next_cost < 1e-7 * cost_;
      point_ = next, residuals_ = residuals, cost_ = next_cost, damping /= 5;
      if (done) break;
    }
  }

  const Vector& point() const { return point_; }

  // How many unknowns the residuals decided, and not the doubts.
  double decided() {
    differentiate();
    const auto a = curvature();
    double sum = 0;
    for (std::size_t i = 0; i < residuals_.size(); ++i) {
      Vector slope(point_.size());
      for (std::size_t k = 0; k < slope.size(); ++k) slope[k] = slopes_[k][i];
      const auto solved = linear_solve(a, slope);
      for (std::size_t k = 0; k < slope.size(); ++k) sum += trust(i) * slope[k] * solved[k];
    }
    return sum;
  }

 private:
  double cost_of(const Vector& point, const Vector& residuals) const {
    double cost = 0;
    for (std::size_t i = 0; i < residuals.size(); ++i)
      cost += square(problem_.weights[i] * scale_) * std::log1p(square(residuals[i] / scale_));
    for (std::size_t k = 0; k < point.size(); ++k) cost += square(point[k] / problem_.doubt[k]);
    return cost;
  }

  void differentiate() {
    slopes_.assign(point_.size(), Vector(residuals_.size()));
    Vector shifted = point_;
    for (std::size_t k = 0; k < point_.size(); ++k) {
      shifted[k] += kStep;
      problem_.residuals(shifted, slopes_[k]);
      for (std::size_t i = 0; i < residuals_.size(); ++i)
        slopes_[k][i] = (slopes_[k][i] - residuals_[i]) / kStep;
      shifted[k] = point_[k];
    }
  }

  // Half the second derivatives of the cost, for the residuals as weighted now.
  std::vector<Vector> curvature() const {
    const std::size_t n = point_.size();
    std::vector<Vector> a(n, Vector(n, 0));
    for (std::size_t i = 0; i < residuals_.size(); ++i)
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t j = 0; j < n; ++j) a[k][j] += trust(i) * slopes_[k][i] * slopes_[j][i];
    for (std::size_t k = 0; k < n; ++k) a[k][k] += 1 / square(problem_.doubt[k]);
    return a;
  }

  // Newton's step, damped along the diagonal.
  Vector step_of(double damping) const {
    auto a = curvature();
    Vector b(point_.size(), 0);
    for (std::size_t k = 0; k < b.size(); ++k) {
      for (std::size_t i = 0; i < residuals_.size(); ++i)
        b[k] -= trust(i) * slopes_[k][i] * residuals_[i];
      b[k] -= point_[k] / square(problem_.doubt[k]);
      a[k][k] *= 1 + damping;
    }
    return linear_solve(std::move(a), std::move(b));
  }

  double trust(std::size_t i) const {
    return square(problem_.weights[i]) / (1 + square(residuals_[i] / scale_));
  }

  static double square(double x) { return x * x; }

  const Problem& problem_;
  Vector point_, residuals_;
  std::vector<Vector> slopes_;  // by unknown
  double scale_ = 1, cost_ = 0;
};

}  // namespace

Solution solve(const Problem& problem) {
  Solver solver(problem);
  for (const double scale : {8.0, 2.0, kScale}) solver.descend(scale);
  return {solver.point(), solver.decided()};
}

}  // namespace orch::fit
