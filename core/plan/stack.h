#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/plan/cluster.h"
#include "core/plan/run.h"

namespace orch::plan {

// Software that trains, of some version, on any machine: what it makes of a machine's constants.
struct Stack {
  std::string name;
  std::string doc;
  std::string file;  // where it was read from
  std::string like;  // the stack that it grew from: what its own rows say nothing about is as there
  std::string date;  // YYYY or YYYY-MM: of the rows that it is known by
  std::vector<std::string> frameworks;  // as measured rows name it
  std::vector<std::string>
      runs;           // what it stands for: a strategy, "megatron/deepspeed" with its engine
  bool tuned = true;  // by its makers, for speed; what somebody had by chance is nobody's default
  // Factors on the partition's constants of the same name; and its own spreads.
  std::map<std::string, Constant> constants;
  std::map<std::string, std::string> settings;  // what its users have where they say nothing
  Seen seen;

  // Whether measured rows decided some of its factors.
  bool fitted() const { return seen.rows > 0; }
};

using StackPtr = std::shared_ptr<const Stack>;

// The machine with the constants of a fit in their places.
Partition calibrated(const Partition& machine, const Calibration& calibration);

// The machine as the software finds it. The spread is that of both, and wide where one of them was
// never measured.
Partition on_stack(const Partition& machine, const StackPtr& stack);
// The same for plans. Factors are of the machines that their rows were run on: on one whose
// products are known to be better they would come to more than any product reaches of a datasheet's
// peak.
Partition planned_on_stack(const Partition& machine, const StackPtr& stack);

// Whether the machine's rows ran other software and never this one.
bool never_together(const Partition& machine, const Stack& stack);

// The one of this name that the partition knows, or null.
const OnStack* find_stack(const Partition& partition, std::string_view name);

// An error with a guess where the partition knows no stack of this name: a run would be priced as
// another.
Status check_stack(const Partition& partition, const std::string& name, const std::string& place);

// How far a run is from the rows of a stack: machine, GPUs, parameters, number format, and the date
// of its GPU, each as the doubt that it adds to an estimate (core/decisions/calibration.md). Its
// layout and settings do not count: runs of one strategy that differ in these are compared in one
// software.
double farness(const Run& run, const OnStack& on);

// The stacks that may price a run: the one it names, if its partition knows it; else the tuned ones
// for its strategy and engine.
std::vector<const OnStack*> stacks_for(const Run& run);

const OnStack* nearest_stack(const Run& run, const std::vector<const OnStack*>& among);

// The nearest of those: the stack that prices a run. Null: none is known.
const OnStack* stack_of(const Run& run);

// Its partition on that stack, or as calibrated where there is none.
const Partition& priced_at(const Run& run);

// Software besides that of the estimate that was measured near the run, tuned or not.
struct Witness {
  const OnStack* on = nullptr;
  bool here = false;    // on this machine; else on models of this size
  bool nearer = false;  // than the stack that prices the run: a tuned one is preferred
};

// The nearest that was measured on this machine and the nearest that was on this size of model,
// where an experiment names no stack.
std::vector<Witness> witnesses(const Run& run, const OnStack& chosen);

// "2022-03" as years: 2022.17.
double years_of(std::string_view date);

}  // namespace orch::plan
