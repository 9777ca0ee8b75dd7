#include "core/fit/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/estimate/estimate.h"
#include "core/estimate/spread.h"
#include "core/fit/solve.h"
#include "core/plan/tunable.h"

namespace orch::fit {
namespace {

using estimate::kNineOfTen, plan::Tunable;

constexpr double kNoise = 0.04;  // repeats of one configuration differ by so much
constexpr double kMemoryNoise = 0.03;
constexpr double kEraDoubt = 0.05;  // an upgrade of a machine brings a few percent
constexpr double kTouched = 0.02;   // a constant matters if its doubt moves a row by so much
constexpr double kLeastSpread = 0.02;
constexpr double kAssumedRows = 3;

// Runs alike share their weight: five repeats are one configuration measured well.
std::vector<double> weights_of(std::span<const Observation* const> observations) {
  const auto key = [](const plan::Run& run) {
    return std::make_tuple(plan::label(run), run.model.layers, run.model.hidden, run.model.heads,
                           run.batch.global_batch);
  };
  std::map<decltype(key(observations[0]->run)), double> alike;
  for (const auto* o : observations) ++alike[key(o->run)];
  std::vector<double> weights;
  for (const auto* o : observations) weights.push_back(1 / std::sqrt(alike[key(o->run)]));
  return weights;
}

// One quantity (step time or memory) of the observations as a function of some tunables.
class Target {
 public:
  Target(const plan::Partition& base, std::span<const Observation* const> all, bool memory)
      : tuned_(base), memory_(memory) {
    for (const auto* o : all)
      if ((memory ? o->memory : o->step_seconds) > 0) observations_.push_back(o);
  }

  const std::vector<const Observation*>& observations() const { return observations_; }
  const std::vector<const Tunable*>& tunables() const { return tunables_; }
  plan::Partition& tuned() { return tuned_; }

  // Only what some observation depends on is worth fitting.
  void choose(std::span<const Tunable> candidates) {
    std::vector<double> before, after;
    predict(before);
    for (const auto& tunable : candidates) {
      auto& constant = tunable.in(tuned_);
      const double value = constant.value;
      constant.value *= std::exp(tunable.doubt);
      predict(after);
      constant.value = value;
      double most = 0;
      for (std::size_t i = 0; i < before.size(); ++i)
        most = std::max(most, std::fabs(after[i] / before[i] - 1));
      if (most < kTouched) continue;
      tunables_.push_back(&tunable);
      start_.push_back(value);
    }
  }

  void set(const std::vector<double>& point) {
    for (std::size_t k = 0; k < tunables_.size(); ++k)
      tunables_[k]->in(tuned_).value =
          std::clamp(start_[k] * std::exp(point[k]), tunables_[k]->min, tunables_[k]->max);
  }

  void predict(std::vector<double>& out) {
    out.clear();
    for (const auto* o : observations_) {
      const auto estimate = estimator_.estimate(o->run, o->work, tuned_);
      out.push_back(!memory_         ? estimate.step_seconds
                    : o->first_stage ? estimate.first_stage_memory
                                     : estimate.peak_memory);
    }
  }

  double measured(std::size_t i) const {
    return memory_ ? observations_[i]->memory : observations_[i]->step_seconds;
  }

 private:
  plan::Partition tuned_;
  bool memory_;
  estimate::Estimator estimator_;
  std::vector<const Observation*> observations_;
  std::vector<const Tunable*> tunables_;
  std::vector<double> start_;
};

int era_of(const std::vector<plan::Era>& eras, const std::string& day) {
  if (day.empty()) return -1;
  for (std::size_t i = 0; i < eras.size(); ++i)
    if (day < eras[i].until) return static_cast<int>(i);
  return -1;
}

// Unknowns: the logarithms of the tunables' factors, then those of the eras.
Solution solve_target(Target& target, const std::vector<plan::Era>& eras, double noise,
                      std::vector<double>& residuals) {
  const auto& observations = target.observations();
  Problem problem;
  problem.unknowns = target.tunables().size() + eras.size();
  for (const auto* tunable : target.tunables()) problem.doubt.push_back(tunable->doubt);
  problem.doubt.resize(problem.unknowns, kEraDoubt);
  problem.weights = weights_of(observations);
  std::vector<int> era;
  for (const auto* o : observations) era.push_back(era_of(eras, o->day));
  const auto n = target.tunables().size();
  std::vector<double> predicted;
  problem.residuals = [&](const std::vector<double>& point, std::vector<double>& out) {
    target.set(point);
    target.predict(predicted);
    out.resize(observations.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double factor = era[i] < 0 ? 0 : point[n + static_cast<std::size_t>(era[i])];
      out[i] = (std::log(predicted[i] / target.measured(i)) + factor) / noise;
    }
  };
  auto solution = solve(problem);
  problem.residuals(solution.point, residuals);
  for (auto& residual : residuals) residual *= noise;
  return solution;
}

// The spread under which nine of ten rows lie within 1.645 of it. Rows that were fitted look better
// than new ones will, the more so the fewer there are for each constant; and what was assumed
// before counts as a few rows more.
double spread_of(std::vector<double> residuals, double decided, double assumed) {
  for (auto& residual : residuals) residual = std::fabs(residual);
  std::sort(residuals.begin(), residuals.end());
  const auto n = static_cast<double>(residuals.size());
  const auto at = static_cast<std::size_t>(0.9 * (n - 1) + 0.5);
  const double optimism = std::sqrt((n + decided) / std::max(n - decided, 0.25 * n));
  const double seen = residuals[at] / kNineOfTen * optimism;
  const double both = (n * seen * seen + kAssumedRows * assumed * assumed) / (n + kAssumedRows);
  return std::clamp(std::sqrt(both), kLeastSpread, 1.0);
}

void keep(plan::Calibration& into, plan::Partition& tuned, const Tunable& tunable,
          const std::string& origin) {
  into.constants[std::string(tunable.name)] = {tunable.in(tuned).value, origin};
}

}  // namespace

plan::Partition applied(const plan::Calibration& calibration, const plan::Partition& partition) {
  auto out = partition;
  for (const auto& [name, constant] : calibration.constants)
    plan::find_tunable(name)->in(out) = constant;
  return out;
}

plan::Calibration uncalibrated(const plan::Partition& base, std::vector<std::string> backends) {
  plan::Calibration none;
  none.backends = std::move(backends);
  none.partition = std::make_shared<plan::Partition>(base);
  return none;
}

plan::Calibration fit(const plan::Partition& base, std::vector<std::string> backends,
                      std::span<const Observation* const> observations, const std::string& rows,
                      std::vector<plan::Era> eras) {
  auto result = uncalibrated(base, std::move(backends));
  const auto origin = "fitted: " + rows;
  std::vector<double> residuals;

  Target time(base, observations, false);
  if (!time.observations().empty()) {
    time.choose(plan::time_tunables());
    const auto solution = solve_target(time, eras, kNoise, residuals);
    for (const auto* tunable : time.tunables()) keep(result, time.tuned(), *tunable, origin);
    for (std::size_t i = 0; i < eras.size(); ++i) {
      eras[i].time = {std::exp(solution.point[time.tunables().size() + i]), origin};
      result.eras.push_back(eras[i]);
    }
    result.constants["time_spread"] = {
        spread_of(residuals, solution.decided, base.efficiency.time_spread.value), origin};
  }
  Target memory(base, observations, true);
  if (!memory.observations().empty()) {
    memory.choose(plan::memory_tunables());
    const auto solution = solve_target(memory, {}, kMemoryNoise, residuals);
    for (const auto* tunable : memory.tunables()) keep(result, memory.tuned(), *tunable, origin);
    result.constants["memory_spread"] = {
        spread_of(residuals, solution.decided, base.efficiency.memory_spread.value), origin};
  }
  result.partition = std::make_shared<plan::Partition>(applied(result, base));
  return result;
}

}  // namespace orch::fit
