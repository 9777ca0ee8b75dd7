#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/plan/tunable.h"
#include "core/price/calibrate/fit.h"
#include "core/price/calibrate/solve.h"
#include "core/price/estimate/estimate.h"

namespace orch::calibrate {

// One quantity (step time or memory) of all observations as a function of all machines' constants,
// all stacks' factors and the eras. An unknown is the logarithm of a factor on the starting value.
class JointModel {
 public:
  JointModel(const std::vector<FittedMachine>& machines, const std::vector<plan::StackPtr>& stacks,
             std::span<const Observation* const> observations, FitOptions options, bool memory);

  struct Unknown {
    const plan::Tunable* tunable = nullptr;  // null: an era
    int machine = -1, stack = -1;
    std::size_t era = 0;
    double doubt = 0;
  };
  const std::vector<Unknown>& unknowns() const { return unknowns_; }
  const std::vector<const Observation*>& observations() const { return observations_; }

  // Finds the unknowns that fit the weighted rows best; residuals are log(predicted / measured).
  Solution solve(Vector& residuals);

  // The value of an unknown's constant (in the machine's first partition) or factor at a point.
  double value(const Unknown& unknown, const Vector& point) const;
  // The parent of a stack, or -1.
  int parent(std::size_t stack) const { return parents_[stack]; }
  // True if the stacks are the same or `stack` is derived from `from`, whose factors then move its
  // rows too.
  bool descends(int stack, int from) const;

 private:
  // A partition on a stack, with its constants at a point.
  struct Pair {
    plan::Partition tuned;
    int machine, stack;
    Vector base;  // by tunable
  };

  std::size_t pair_of(const Observation& observation, const std::vector<plan::StackPtr>& stacks);
  bool starts_measured(const FittedMachine& machine) const {
    return machine.held || options_.start == FitStart::present;
  }
  // True if stacks start from their present factors.
  bool keeps_factors() const { return options_.start == FitStart::present || !options_.stacks; }
  bool moves(const Unknown& unknown, const Pair& pair) const {
    return unknown.machine >= 0 ? pair.machine == unknown.machine
                                : descends(pair.stack, unknown.stack);
  }
  void choose();
  bool consider(Unknown unknown);
  void set(const Vector& point);
  double predict(std::size_t row);
  double measured(std::size_t row) const;
  Vector weights() const;
  int era_of(std::size_t row) const;

  double era_start(int machine, std::size_t era) const;
  // The start of the descent: floors begin high, because a floor below every row has no slope.
  Vector from_above() const;
  // The values of the unknowns in another fit; 0 for those it does not have.
  Vector point_of(const FitResult& other) const;
  const Unknown* nearest_above(const Unknown& unknown) const;
  // Sets the noise of each row to the residuals of the rows of its stack on its machine.
  void set_noise(const Vector& residuals, Vector& noise) const;

  const std::vector<FittedMachine>& machines_;
  FitOptions options_;
  bool memory_;
  std::span<const plan::Tunable> tunables_;
  std::vector<const Observation*> observations_;
  std::vector<std::size_t> pair_;  // by row
  std::vector<Pair> pairs_;
  std::map<std::pair<const plan::Partition*, int>, std::size_t> known_;
  std::vector<Unknown> unknowns_;
  std::vector<RowNumbers> touched_;
  std::vector<Vector> starts_;   // by machine: its first partition's constants, by tunable
  std::vector<Vector> factors_;  // by stack
  std::vector<int> parents_;     // by stack: its parent, or -1
  estimate::Estimator estimator_;
};

}  // namespace orch::calibrate
