#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/cluster.h"
#include "core/plan/run.h"
#include "core/plan/strategy.h"
#include "core/plan/value.h"

namespace orch::plan {

// Answers "what is the value of this field in this run", filling in and deriving on demand.
using Lookup = std::function<Result<Value>(std::string_view field)>;

// A choice between points; each point gives every field of the axis a value. A plain value is an
// axis with one point, a list one with several, zip{} one with several fields.
struct Axis {
  std::vector<std::string> fields;
  std::vector<std::vector<Value>> points;
};

// A field whose value follows from others.
struct Derived {
  std::string field;
  std::function<Result<Value>(const Lookup&)> value;
  std::string place = {};  // for messages; empty: the field's name
};

struct Space {
  std::vector<Axis> axes;
  std::vector<Derived> derived;
};

struct AskedModel {
  std::string name;  // empty: named after its size
  Space space;
};

struct AskedStrategy {
  StrategyPtr strategy;
  Space space;
  std::string place;  // "strategies[2]", for messages
};

// A rule of the user's: the answer is "ok" (empty), or why the run is rejected.
struct Constraint {
  std::string name;
  std::function<Result<std::string>(const Lookup&)> broken;
};

struct Budget {
  double gpu_hours = 0;      // 0: none
  double deadline_days = 0;  // 0: none
  std::int64_t reserve_nodes = 0;
};

// What was asked. Spaces later in the list shadow earlier ones: hardware, batch, model, strategy.
struct Experiment {
  std::string name;
  std::string doc;
  std::string file;
  std::vector<AskedModel> models;
  Space hardware;
  Space batch;  // with tokens and steps
  std::optional<RampUp> rampup;
  std::vector<AskedStrategy> strategies;
  std::vector<Constraint> constraints;
  Budget budget;
  Slurm job;            // what the experiment says over the partition's words
  bool strict = false;  // warnings reject
};

// Everything that came of an experiment.
struct Plan {
  std::vector<Run> runs;
  std::vector<Rejected> rejected;
};

}  // namespace orch::plan
