// Builds the least-squares problem of a calibration. A prediction for a row uses a Pair, the row's
// partition on its stack; its constants are the machine's values times the stack's factors. Every
// unknown is the logarithm of a factor on such a value: of a machine's constant, which affects all
// rows of the machine; of a stack's factor, which affects all rows of the stack and of those
// derived from it; or of an era, a factor on the times before a day. choose() keeps only unknowns
// that change at least one prediction noticeably. The residual of a row is log(predicted /
// measured) in units of its noise; solve() estimates the noise from a first solution. Rows of equal
// configuration, and of large tables, share their weight.
#include "core/price/calibrate/joint.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace orch::calibrate {
namespace {

constexpr double kNoise = 0.04;  // repeats of one configuration differ by this
constexpr double kMemoryNoise = 0.03;
constexpr double kMostNoise = 0.2;
constexpr double kEraDoubt = 0.05;  // an upgrade of a machine changes times by a few percent
constexpr double kTouched = 0.02;   // a constant matters if twice its doubt moves a row by this
constexpr double kFar = 2;
// A table with hundreds of rows determines a stack no better than one with this many.
constexpr double kMostRows = 30;

double median_of(Vector values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

JointModel::JointModel(const std::vector<FittedMachine>& machines,
                       const std::vector<plan::StackPtr>& stacks,
                       std::span<const Observation* const> observations, FitOptions options,
                       bool memory)
    : machines_(machines),
      options_(options),
      memory_(memory),
      tunables_(memory ? plan::memory_tunables() : plan::time_tunables()) {
  for (const auto& machine : machines) {
    const auto& first = *machine.partitions.front();
    auto at = starts_measured(machine) ? first.as_measured() : first;
    auto& values = starts_.emplace_back();
    for (const auto& tunable : tunables_) values.push_back(tunable.in(at).value);
  }
  std::vector<plan::StackPtr> from;
  for (const auto& stack : stacks) {
    from.push_back(keeps_factors() ? stack
                                   : std::make_shared<const plan::Stack>(as_assumed(*stack)));
    const auto parent =
        std::ranges::find(stacks, stack->like, [](const auto& each) { return each->name; });
    parents_.push_back(stack->like.empty() || parent == stacks.end()
                           ? -1
                           : static_cast<int>(parent - stacks.begin()));
    auto& values = factors_.emplace_back();
    for (const auto& tunable : tunables_) {
      const auto found = from.back()->constants.find(std::string(tunable.name));
      values.push_back(found != from.back()->constants.end() ? found->second.value : 1);
    }
  }
  // Files that override one another could form a cycle.
  for (std::size_t s = 0; s < parents_.size(); ++s) {
    std::size_t steps = 0;
    for (int at = static_cast<int>(s); at >= 0 && steps <= parents_.size(); ++steps)
      at = parents_[static_cast<std::size_t>(at)];
    if (steps > parents_.size()) parents_[s] = -1;
  }
  for (const auto* o : observations)
    if (o && (memory ? o->memory : o->step_seconds) > 0) {
      observations_.push_back(o);
      pair_.push_back(pair_of(*o, from));
    }
  choose();
}

std::size_t JointModel::pair_of(const Observation& o, const std::vector<plan::StackPtr>& stacks) {
  const auto key = std::make_pair(o.run.partition, o.stack);
  const auto [found, fresh] = known_.try_emplace(key, pairs_.size());
  if (!fresh) return found->second;
  auto at =
      starts_measured(machines_[o.machine]) ? o.run.partition->as_measured() : *o.run.partition;
  if (o.stack >= 0) at = plan::on_stack(at, stacks[static_cast<std::size_t>(o.stack)]);
  at.calibration.reset();
  at.stacks.clear();
  Pair pair{std::move(at), static_cast<int>(o.machine), o.stack, {}};
  for (const auto& tunable : tunables_) pair.base.push_back(tunable.in(pair.tuned).value);
  pairs_.push_back(std::move(pair));
  return found->second;
}

double JointModel::measured(std::size_t row) const {
  return memory_ ? observations_[row]->memory : observations_[row]->step_seconds;
}

double JointModel::predict(std::size_t row) {
  const auto& o = *observations_[row];
  const auto& at = pairs_[pair_[row]].tuned;
  if (!memory_) return estimator_.step_seconds(o.run, o.work, at);
  return estimator_.estimate(o.run, o.work, at).memory_of(o.memory_of);
}

int JointModel::era_of(std::size_t row) const {
  const auto& o = *observations_[row];
  const auto& eras = machines_[o.machine].eras;
  if (memory_ || o.day.empty() || machines_[o.machine].held) return -1;
  for (std::size_t i = 0; i < eras.size(); ++i)
    if (o.day < eras[i].until) return static_cast<int>(i);
  return -1;
}

// Keeps an unknown that moves some row if changed by twice its doubt, with the rows that it moves.
bool JointModel::consider(Unknown unknown) {
  RowNumbers rows;
  double most = 0;
  const auto at = static_cast<std::size_t>(unknown.tunable - tunables_.data());
  for (std::size_t row = 0; row < observations_.size(); ++row) {
    auto& pair = pairs_[pair_[row]];
    if (!moves(unknown, pair)) continue;
    const double before = predict(row);
    auto& constant = unknown.tunable->in(pair.tuned);
    constant.value *= std::exp(kFar * unknown.doubt);
    const double off = std::fabs(predict(row) / before - 1);
    constant.value = pair.base[at] / std::exp(kFar * unknown.doubt);
    const double other = std::fabs(predict(row) / before - 1);
    constant.value = pair.base[at];
    if (off > 0 || other > 0) rows.push_back(row);
    most = std::max({most, off, other});
  }
  if (most < kTouched) return false;
  unknowns_.push_back(unknown);
  touched_.push_back(std::move(rows));
  return true;
}

void JointModel::choose() {
  for (const auto& tunable : tunables_) {
    const double doubt =
        options_.stacks ? tunable.doubt : std::hypot(tunable.doubt, tunable.stack_doubt);
    for (std::size_t m = 0; m < machines_.size(); ++m)
      if (tunable.doubt > 0 && !machines_[m].held)
        consider({&tunable, static_cast<int>(m), -1, 0, doubt});
    for (std::size_t s = 0; s < factors_.size() && options_.stacks; ++s)
      if (tunable.stack_doubt > 0)
        consider({&tunable, -1, static_cast<int>(s), 0, tunable.stack_doubt});
  }
  for (std::size_t m = 0; m < machines_.size(); ++m)
    for (std::size_t era = 0; !machines_[m].held && era < machines_[m].eras.size(); ++era) {
      RowNumbers rows;
      for (std::size_t row = 0; row < observations_.size(); ++row)
        if (observations_[row]->machine == m && era_of(row) == static_cast<int>(era))
          rows.push_back(row);
      if (rows.empty()) continue;
      unknowns_.push_back({nullptr, static_cast<int>(m), -1, era, kEraDoubt});
      touched_.push_back(std::move(rows));
    }
}

void JointModel::set(const Vector& point) {
  for (auto& pair : pairs_)
    for (std::size_t t = 0; t < tunables_.size(); ++t)
      tunables_[t].in(pair.tuned).value = pair.base[t];
  for (std::size_t k = 0; k < unknowns_.size(); ++k) {
    const auto& unknown = unknowns_[k];
    if (!unknown.tunable || point[k] == 0) continue;
    const double factor = std::exp(point[k]);
    for (auto& pair : pairs_)
      if (moves(unknown, pair)) unknown.tunable->in(pair.tuned).value *= factor;
  }
  for (auto& pair : pairs_)
    for (const auto& tunable : tunables_) {
      auto& value = tunable.in(pair.tuned).value;
      value = std::clamp(value, tunable.min, tunable.max);
    }
}

// Runs with the same configuration share their weight: five repeats are one configuration measured
// well.
Vector JointModel::weights() const {
  const auto key = [](const Observation& o) {
    const auto& run = o.run;
    return std::make_tuple(o.machine, o.stack, plan::label(run), run.model.layers, run.model.hidden,
                           run.model.heads, run.model.seq, run.batch.global_batch);
  };
  std::map<decltype(key(*observations_[0])), double> alike;
  for (const auto* o : observations_) ++alike[key(*o)];
  Vector weights;
  std::map<std::string, double> rows;  // by table: the number of distinct configurations
  for (const auto* o : observations_) {
    weights.push_back(1 / alike[key(*o)]);
    rows[o->table] += weights.back();
  }
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = std::sqrt(weights[i] * std::min(1.0, kMostRows / rows[observations_[i]->table]));
  return weights;
}

// Solves twice: the residuals of the first time give the noise of each stack's rows on a machine
// for the second.
Solution JointModel::solve(Vector& residuals) {
  Problem problem;
  problem.unknowns = unknowns_.size();
  problem.touched = touched_;
  problem.weights = weights();
  for (const auto& unknown : unknowns_) problem.doubt.push_back(unknown.doubt);
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> eras;
  for (std::size_t k = 0; k < unknowns_.size(); ++k)
    if (!unknowns_[k].tunable)
      eras[{static_cast<std::size_t>(unknowns_[k].machine), unknowns_[k].era}] = k;
  Vector noise(observations_.size(), memory_ ? kMemoryNoise : kNoise), log_measured;
  std::vector<int> factor;
  for (std::size_t i = 0; i < observations_.size(); ++i) {
    log_measured.push_back(std::log(measured(i)));
    const int era = era_of(i);
    factor.push_back(-1);
    if (machines_[observations_[i]->machine].held)
      log_measured.back() -= std::log(observations_[i]->run.partition->era(observations_[i]->day));
    if (era < 0) continue;
    const auto at = static_cast<std::size_t>(era), machine = observations_[i]->machine;
    factor.back() = static_cast<int>(eras.at({machine, at}));
    log_measured.back() -= std::log(era_start(static_cast<int>(machine), at));
  }
  problem.residuals = [&](const Vector& point, const RowNumbers& rows, Vector& out) {
    set(point);
    for (const auto i : rows)
      out[i] = (std::log(predict(i)) - log_measured[i] +
                (factor[i] < 0 ? 0 : point[static_cast<std::size_t>(factor[i])])) /
               noise[i];
  };
  residuals.assign(observations_.size(), 0);
  RowNumbers all(observations_.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  if (options_.near)
    problem.start = point_of(*options_.near);
  else {
    problem.start = from_above();
    problem.start = calibrate::solve(problem, {8, 2}).point;
  }
  problem.residuals(problem.start, all, residuals);
  set_noise(residuals, noise);
  const auto solution = calibrate::solve(problem, options_.near ? Vector{1} : Vector{2, 1});
  problem.residuals(solution.point, all, residuals);
  for (std::size_t i = 0; i < all.size(); ++i) residuals[i] *= noise[i];
  return solution;
}

Vector JointModel::from_above() const {
  Vector point;
  for (const auto& unknown : unknowns_)
    point.push_back(unknown.tunable && unknown.tunable->name == "host_floor" &&
                            unknown.stack >= 0 &&
                            parents_[static_cast<std::size_t>(unknown.stack)] < 0
                        ? kFar * unknown.doubt
                        : 0);
  return point;
}

void JointModel::set_noise(const Vector& residuals, Vector& noise) const {
  const auto least = memory_ ? kMemoryNoise : kNoise;
  std::vector<Vector> left(pairs_.size());
  for (std::size_t i = 0; i < noise.size(); ++i)
    left[pair_[i]].push_back(std::fabs(residuals[i] * noise[i]));
  for (auto& values : left) values = {std::clamp(median_of(std::move(values)), least, kMostNoise)};
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = left[pair_[i]].front();
}

Vector JointModel::point_of(const FitResult& other) const {
  Vector point;
  const Vector none(unknowns_.size(), 0);
  // The distance of a constant from its start.
  const auto moved = [&](const Unknown& unknown) {
    const auto machine = static_cast<std::size_t>(std::max(0, unknown.machine));
    const auto& from = unknown.stack >= 0
                           ? other.stacks[static_cast<std::size_t>(unknown.stack)].constants
                           : other.machines[machine].constants;
    const double start = value(unknown, none);
    double there = start;
    if (!unknown.tunable)
      there = other.machines[machine].eras[unknown.era].time.value;
    else if (const auto found = from.find(std::string(unknown.tunable->name)); found != from.end())
      there = found->second.value;
    return start > 0 && there > 0 ? std::log(there / start) : 0;
  };
  for (const auto& unknown : unknowns_) {
    const auto* above = nearest_above(unknown);
    point.push_back(moved(unknown) - (above ? moved(*above) : 0));
  }
  return point;
}

bool JointModel::descends(int stack, int from) const {
  for (; stack >= 0; stack = parents_[static_cast<std::size_t>(stack)])
    if (stack == from) return true;
  return false;
}

// The same constant of the nearest ancestor of this stack.
const JointModel::Unknown* JointModel::nearest_above(const Unknown& unknown) const {
  const Unknown* found = nullptr;
  for (const auto& each : unknowns_)
    if (each.stack >= 0 && each.stack != unknown.stack && each.tunable == unknown.tunable &&
        descends(unknown.stack, each.stack) && (!found || descends(each.stack, found->stack)))
      found = &each;
  return found;
}

double JointModel::era_start(int machine, std::size_t era) const {
  if (options_.start == FitStart::datasheet) return 1;
  return machines_[static_cast<std::size_t>(machine)].eras[era].time.value;
}

double JointModel::value(const Unknown& unknown, const Vector& point) const {
  double moved = 0;
  for (std::size_t k = 0; k < unknowns_.size(); ++k) {
    const auto& each = unknowns_[k];
    if (each.tunable == unknown.tunable && each.machine == unknown.machine &&
        each.era == unknown.era &&
        (each.stack == unknown.stack ||
         (unknown.stack >= 0 && descends(unknown.stack, each.stack))))
      moved += point[k];
  }
  if (!unknown.tunable) return era_start(unknown.machine, unknown.era) * std::exp(moved);
  const auto t = static_cast<std::size_t>(unknown.tunable - tunables_.data());
  if (unknown.stack >= 0)
    return factors_[static_cast<std::size_t>(unknown.stack)][t] * std::exp(moved);
  return std::clamp(starts_[static_cast<std::size_t>(unknown.machine)][t] * std::exp(moved),
                    unknown.tunable->min, unknown.tunable->max);
}

}  // namespace orch::calibrate
