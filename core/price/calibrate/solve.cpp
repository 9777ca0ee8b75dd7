// Levenberg-Marquardt for robust least squares with priors. An unknown is a logarithm with mean 0
// and standard deviation `doubt`, so its prior adds (unknown / doubt)^2 to the cost. A residual r
// counts as scale^2 log(1 + (r / scale)^2), like r^2 if it is small and hardly at all if it is
// large; in the normal equations this is the weight trust() = weight^2 / (1 + (r / scale)^2),
// updated in every iteration (iteratively reweighted least squares).
//
// Derivatives are numeric, and only residuals that an unknown affects (`touched`) are computed
// again. A step that lowers the cost is taken and the damping reduced, otherwise the damping grows
// tenfold. solve() repeats the descent with smaller scales, each from the last point. The inverse
// of the final curvature gives the leverages.
#include "core/price/calibrate/solve.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace orch::calibrate {
namespace {

constexpr double kStep = 1e-4;  // step of the numeric derivatives
constexpr int kIterations = 40;

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

std::vector<Vector> inverse_of(const std::vector<Vector>& a) {
  std::vector<Vector> columns;
  for (std::size_t k = 0; k < a.size(); ++k) {
    Vector unit(a.size(), 0);
    unit[k] = 1;
    columns.push_back(linear_solve(a, std::move(unit)));
  }
  return columns;  // symmetric
}

class Solver {
 public:
  explicit Solver(const Problem& problem)
      : problem_(problem), point_(problem.start), residuals_(problem.weights.size()) {
    point_.resize(problem.unknowns, 0);
    all_.resize(residuals_.size());
    std::iota(all_.begin(), all_.end(), 0);
  }

  void descend(double scale) {
    scale_ = scale;
    double damping = 1e-3;
    problem_.residuals(point_, all_, residuals_);
    cost_ = cost_of(point_, residuals_);
    bool moved = true;
    for (int i = 0; i < kIterations && damping < 1e6; ++i) {
      if (moved) differentiate();
      Vector next = point_, residuals(residuals_.size());
      const Vector step = step_of(damping);
      for (std::size_t k = 0; k < next.size(); ++k) next[k] += std::clamp(step[k], -1.0, 1.0);
      problem_.residuals(next, all_, residuals);
      const double next_cost = cost_of(next, residuals);
      moved = next_cost < cost_;
      if (!moved) {
        damping *= 10;
        continue;
      }
      const bool done = cost_ - next_cost < 1e-7 * cost_;
      point_ = next, residuals_ = residuals, cost_ = next_cost, damping /= 5;
      if (done) break;
    }
  }

  const Vector& point() const { return point_; }

  // The leverage of each residual: trust * slope' * inverse curvature * slope.
  Vector leverage() {
    differentiate();
    const auto inverse = inverse_of(curvature());
    Vector out(residuals_.size(), 0);
    for (std::size_t i = 0; i < out.size(); ++i) {
      for (const auto k : moves_[i])
        for (const auto j : moves_[i]) out[i] += slopes_[k][i] * inverse[k][j] * slopes_[j][i];
      out[i] *= trust(i);
    }
    return out;
  }

 private:
  double cost_of(const Vector& point, const Vector& residuals) const {
    double cost = 0;
    for (std::size_t i = 0; i < residuals.size(); ++i)
      cost += square(problem_.weights[i] * scale_) * std::log1p(square(residuals[i] / scale_));
    for (std::size_t k = 0; k < point.size(); ++k) cost += square(point[k] / problem_.doubt[k]);
    return cost;
  }

  const RowNumbers& touched(std::size_t unknown) const {
    return problem_.touched.empty() ? all_ : problem_.touched[unknown];
  }

  // Computes the slopes along an unknown; false: no residual changes in that direction, as at a
  // bound.
  bool step(std::size_t k, double by, Vector& shifted, Vector& moved) {
    shifted[k] = point_[k] + by;
    problem_.residuals(shifted, touched(k), moved);
    bool any = false;
    for (const auto i : touched(k)) {
      slopes_[k][i] = (moved[i] - residuals_[i]) / by;
      any = any || moved[i] != residuals_[i];
    }
    return any;
  }

  void differentiate() {
    slopes_.assign(point_.size(), Vector(residuals_.size(), 0));
    moves_.assign(residuals_.size(), {});
    Vector shifted = point_, moved(residuals_.size());
    for (std::size_t k = 0; k < point_.size(); ++k) {
      if (!step(k, kStep, shifted, moved)) step(k, -kStep, shifted, moved);
      for (const auto i : touched(k)) moves_[i].push_back(k);
      shifted[k] = point_[k];
    }
  }

  // Half the second derivatives of the cost, with the present weights of the residuals.
  std::vector<Vector> curvature() const {
    const std::size_t n = point_.size();
    std::vector<Vector> a(n, Vector(n, 0));
    for (std::size_t i = 0; i < residuals_.size(); ++i)
      for (const auto k : moves_[i])
        for (const auto j : moves_[i]) a[k][j] += trust(i) * slopes_[k][i] * slopes_[j][i];
    for (std::size_t k = 0; k < n; ++k) a[k][k] += 1 / square(problem_.doubt[k]);
    return a;
  }

  // A Newton step, damped along the diagonal.
  Vector step_of(double damping) const {
    auto a = curvature();
    Vector b(point_.size(), 0);
    for (std::size_t k = 0; k < b.size(); ++k) {
      for (const auto i : touched(k)) b[k] -= trust(i) * slopes_[k][i] * residuals_[i];
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
  RowNumbers all_;
  std::vector<Vector> slopes_;     // by unknown
  std::vector<RowNumbers> moves_;  // by residual: the unknowns that change it
  double scale_ = 1, cost_ = 0;
};

}  // namespace

Solution solve(const Problem& problem, const Vector& scales) {
  Solver solver(problem);
  for (const double scale : scales) solver.descend(scale);
  return {solver.point(), solver.leverage()};
}

}  // namespace orch::calibrate
