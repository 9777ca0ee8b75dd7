// A Gaussian process over the logarithms of the times. The chance of being the fastest and the
// expected regret are counted over draws from it, always with the same random numbers.

#include "core/price/tune/belief.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <string>

#include "core/base/counter_random.h"

namespace orch::tune {
namespace {

constexpr double kNoise = 0.01;  // standard deviation of a short measurement
constexpr double kAlone = 0.2;   // share of the own variance that nothing near has too
constexpr double kReach = 2;     // doublings over which errors are alike
constexpr double kOther = 0.7;   // distance of two values that are not numbers
constexpr std::size_t kDraws = 1000;
constexpr double kDeviations = 1.645;  // in half of a 90 % range

using Vector = std::vector<double>;
using Rows = std::vector<Vector>;

double distance_squared(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum / (kReach * kReach);
}

// The covariance of the errors of two estimates; own errors are `scale` times as large as expected.
double covariance(const TuneCandidate& a, const TuneCandidate& b, bool same, double scale) {
  if (a.timing.machine != b.timing.machine) return 0;
  const auto ea = plan::errors_of(a.timing), eb = plan::errors_of(b.timing);
  double out = ea.machine * eb.machine;
  if (a.timing.stack == b.timing.stack) out += ea.stack * eb.stack;
  const double alike = std::exp(-distance_squared(a.place, b.place) / 2);
  return out + scale * scale * ea.own * eb.own * ((1 - kAlone) * alike + (same ? kAlone : 0));
}

// The lower triangular factor of a symmetric matrix that is positive but for rounding.
Rows cholesky(Rows a) {
  const auto n = a.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / a[j][j];
    }
    for (std::size_t k = j + 1; k < n; ++k) a[j][k] = 0;
  }
  return a;
}

// Solves L x = y.
Vector forward(const Rows& lower, Vector y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) y[i] -= lower[i][k] * y[k];
    y[i] /= lower[i][i];
  }
  return y;
}

// The errors that measurements showed, with the factor of their covariance.
struct MeasuredErrors {
  Rows lower;
  Vector white;  // the errors, solved by the factor
};

MeasuredErrors evidence(const std::vector<TuneCandidate>& candidates,
                        const std::vector<MeasuredTime>& measured, double scale) {
  Rows among(measured.size(), Vector(measured.size()));
  Vector errors;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const auto& one = candidates[measured[i].candidate];
    errors.push_back(std::log(measured[i].time / one.timing.days));
    for (std::size_t j = 0; j < measured.size(); ++j)
      among[i][j] = covariance(one, candidates[measured[j].candidate],
                               measured[i].candidate == measured[j].candidate, scale) +
                    (i == j ? kNoise * kNoise : 0);
  }
  MeasuredErrors out{cholesky(std::move(among)), {}};
  out.white = forward(out.lower, std::move(errors));
  return out;
}

// How much larger own errors are than expected: the most likely of some factors, with a doubt about
// factors far from 1.
double scale_of(const std::vector<TuneCandidate>& candidates,
                const std::vector<MeasuredTime>& measured) {
  constexpr double kDoubt = 0.7;
  double best = 1, highest = -1e300;
  for (const double scale : {0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6}) {
    const auto seen = evidence(candidates, measured, scale);
    double likely = -std::pow(std::log(scale) / kDoubt, 2) / 2;
    for (std::size_t i = 0; i < measured.size(); ++i)
      likely -= seen.white[i] * seen.white[i] / 2 + std::log(seen.lower[i][i]);
    if (likely > highest) {
      highest = likely;
      best = scale;
    }
  }
  return best;
}

// What the logarithms of the times are, given the measurements.
struct Posterior {
  Vector mean;
  Rows among;
};

Posterior posterior(const std::vector<TuneCandidate>& candidates,
                    const std::vector<MeasuredTime>& measured) {
  const auto n = candidates.size();
  const double scale = scale_of(candidates, measured);
  const auto seen = evidence(candidates, measured, scale);
  Posterior out{Vector(n), Rows(n, Vector(n))};
  Rows solved;
  for (std::size_t i = 0; i < n; ++i) {
    Vector with;
    for (const auto& one : measured)
      with.push_back(
          covariance(candidates[i], candidates[one.candidate], i == one.candidate, scale));
    solved.push_back(forward(seen.lower, std::move(with)));
    out.mean[i] = std::log(candidates[i].timing.days) +
                  std::inner_product(seen.white.begin(), seen.white.end(), solved[i].begin(), 0.0);
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      out.among[i][j] = out.among[j][i] =
          covariance(candidates[i], candidates[j], i == j, scale) -
          std::inner_product(solved[i].begin(), solved[i].end(), solved[j].begin(), 0.0);
  return out;
}

// A standard normal number (Box and Muller).
double normal(std::uint64_t index) {
  const double radius = std::sqrt(-2 * std::log(1 - counter_random::uniform(1, 2 * index)));
  return radius * std::cos(2 * std::numbers::pi * counter_random::uniform(1, 2 * index + 1));
}

void draw(const Posterior& known, Belief& out) {
  const auto n = known.mean.size();
  const auto lower = cholesky(known.among);
  Vector random(n), times(n);
  for (std::size_t d = 0; d < kDraws; ++d) {
    for (std::size_t i = 0; i < n; ++i) random[i] = normal(d * n + i);
    for (std::size_t i = 0; i < n; ++i)
      times[i] = std::inner_product(lower[i].begin(), lower[i].begin() + std::ptrdiff_t(i) + 1,
                                    random.begin(), known.mean[i]);
    const auto fastest =
        static_cast<std::size_t>(std::min_element(times.begin(), times.end()) - times.begin());
    out.times[fastest].chance += 1.0 / kDraws;
    out.times[fastest].regret += std::expm1(times[out.best] - times[fastest]) / kDraws;
  }
}

}  // namespace

Belief believe(const std::vector<TuneCandidate>& candidates,
               const std::vector<MeasuredTime>& measured) {
  const auto known = posterior(candidates, measured);
  Belief out;
  out.best = static_cast<std::size_t>(std::min_element(known.mean.begin(), known.mean.end()) -
                                      known.mean.begin());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double reach = kDeviations * std::sqrt(std::max(0.0, known.among[i][i]));
    const double time = std::exp(known.mean[i]);
    out.times.push_back({time, time * std::exp(-reach), time * std::exp(reach)});
  }
  draw(known, out);
  for (const auto& time : out.times) out.regret += time.regret;
  std::vector<bool> is_measured(candidates.size());
  for (const auto& one : measured) is_measured[one.candidate] = true;
  if (!is_measured[out.best]) out.next = out.best;
  for (std::size_t i = 0; is_measured[out.best] && i < candidates.size(); ++i)
    if (!is_measured[i] && (!out.next || out.times[i].regret > out.times[*out.next].regret))
      out.next = i;
  return out;
}

bool is_known(const Belief& belief, const std::vector<MeasuredTime>& measured,
              const TuneLimits& limits) {
  constexpr std::size_t kFewest = 3;
  if (!belief.next) return true;
  const bool best_is_measured =
      std::ranges::find(measured, belief.best, &MeasuredTime::candidate) != measured.end();
  return best_is_measured && measured.size() >= kFewest && belief.regret <= limits.regret;
}

std::vector<std::vector<double>> places_of(const std::vector<const plan::Run*>& runs) {
  std::vector<Vector> out;
  std::map<std::string, std::size_t> others;  // coordinates of values that are not numbers
  std::vector<std::vector<std::size_t>> has;
  for (const auto* run : runs) {
    auto& place = out.emplace_back();
    auto& own = has.emplace_back();
    const auto other = [&](const std::string& text) {
      own.push_back(others.try_emplace(text, others.size()).first->second);
    };
    const auto& at = run->layout;
    for (const auto number : {at.tensor_parallel, at.pipeline_parallel, at.data_parallel,
                              at.context_parallel, run->batch.micro_batch, run->gpus})
      place.push_back(std::log2(static_cast<double>(number)));
    other("strategy " + run->strategy->name);
    for (std::size_t i = 0; i < run->settings.size(); ++i)
      other(run->strategy->params[i].name + " " + plan::show(run->settings[i]));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Vector marks(others.size());
    // Two different values differ in two coordinates.
    for (const auto coordinate : has[i]) marks[coordinate] = kOther * kReach / std::numbers::sqrt2;
    out[i].insert(out[i].end(), marks.begin(), marks.end());
  }
  return out;
}

}  // namespace orch::tune
