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

// Training software of some version, independent of machines: how it changes a machine's constants.
struct Stack {
  std::string name;
  std::string doc;
  std::string file;  // where it was read from
  std::string like;  // the stack that it was derived from and whose values are the defaults
  std::string date;  // YYYY or YYYY-MM: the date of its rows
  std::vector<std::string> frameworks;  // their names in measured rows
  std::vector<std::string> runs;  // what it is used for: a strategy, "megatron/deepspeed" with its
                                  // engine, or "fsdp/torch" with its framework, which counts more
  bool tuned = true;  // tuned for speed by its makers; software that is not is never a default
  // Factors on the partition's constants of the same name; and spreads of its own.
  std::map<std::string, Constant> constants;
  std::map<std::string, std::string> settings;  // its default settings
  SeenRanges seen;

  // True if measured rows determined some of its factors.
  bool fitted() const { return seen.rows > 0; }
};

using StackPtr = std::shared_ptr<const Stack>;

// The machine with the fitted constants of the calibration.
Partition calibrated(const Partition& machine, const Calibration& calibration);

// The machine with the constants that the software reaches. The spread combines both, and is wide
// where one of them was never measured.
Partition on_stack(const Partition& machine, const StackPtr& stack);
// The same for plans. Factors were fitted on the machines of their rows: on a machine with better
// matrix products they could otherwise exceed the highest share of a datasheet's peak that any
// product reaches.
Partition planned_on_stack(const Partition& machine, const StackPtr& stack);

// True if the machine's rows ran other software but never this one.
bool never_together(const Partition& machine, const Stack& stack);

// The partition's stack of this name, or null.
const StackOnPartition* find_stack(const Partition& partition, std::string_view name);

// An error with a suggestion where the partition has no stack of this name: the run would be
// estimated with another one.
Status check_stack(const Partition& partition, const std::string& name, const std::string& place);

// The distance of a run from the rows of a stack: machine, GPUs, parameters, number format, and the
// date of its GPU, each as the doubt that it adds to an estimate (core/decisions/calibration.md).
// Layout and settings do not count: runs of one strategy that differ in these are compared in one
// stack.
double farness(const Run& run, const StackOnPartition& on);

// The stacks that may estimate a run: the one it names, if its partition knows it; else the tuned
// ones for its strategy and engine.
std::vector<const StackOnPartition*> stacks_for(const Run& run);

const StackOnPartition* nearest_stack(const Run& run,
                                      const std::vector<const StackOnPartition*>& among);

// The nearest of those, which is used for the run's estimate. Null: none is known.
const StackOnPartition* stack_of(const Run& run);

// The run's partition on that stack, or the calibrated partition where there is no stack.
const Partition& priced_at(const Run& run);

// Other software than that of the estimate that was measured near the run, tuned or not.
struct OtherMeasuredStack {
  const StackOnPartition* on = nullptr;
  bool here = false;    // on this machine; else on models of this size
  bool nearer = false;  // than the stack of the estimate, which is a tuned one
};

// The nearest stack measured on this machine and the nearest measured on this model size, where the
// experiment names no stack.
std::vector<OtherMeasuredStack> witnesses(const Run& run, const StackOnPartition& chosen);

// "2022-03" as years: 2022.17.
double years_of(std::string_view date);

}  // namespace orch::plan
