#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/calendar.h"
#include "core/plan/cluster.h"
#include "core/plan/run.h"
#include "core/plan/strategy.h"
#include "core/plan/training.h"
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
  std::string place;      // "strategies[2]", for messages
  std::string stack;      // the software that it is compared in; empty: the experiment's
  std::string framework;  // who trains, and how it is started: as of a run
  std::string launch;
  std::vector<std::string> args;
  Slurm job;  // its environment and setup, over the experiment's
};

// A rule of the user's: the answer is "ok" (empty), or why the run is rejected.
struct Constraint {
  std::string name;
  std::function<Result<std::string>(const Lookup&)> broken;
};

struct Budget {
  double gpu_hours = 0;      // 0: none
  double deadline_days = 0;  // on the calendar, from the start; 0: none
  std::optional<Date> deadline;
  std::int64_t reserve_nodes = 0;
};

// What a run should reach, by the name of a measured quantity, and how far from it is well enough.
struct Expectation {
  std::string quantity;
  double value = 0;
  std::optional<double> below, above;  // shares of the value; nothing: any distance
  std::string where;                   // the runs that it is for: "strategy=ddp,gpus=8"; empty: all

  double least() const { return below ? value * (1 - *below) : 0; }
  std::optional<double> most() const {
    return above ? std::optional(value * (1 + *above)) : std::nullopt;
  }
  bool operator==(const Expectation&) const = default;
};

// The shapes of a model of some size, for a search to choose from.
struct Shapes {
  double params = 0;
  double tolerance = 0.02;           // of params, both ways
  std::vector<std::int64_t> layers;  // empty: hidden / layers from 64 to 256
  std::int64_t hidden_multiple = 128;
  std::vector<std::int64_t> heads;  // empty: head_dim from 64 to 256 in steps of 16
};

// What was asked. Spaces later in the list shadow earlier ones: hardware, batch, model, strategy.
struct Experiment {
  std::string name;
  std::string doc;
  std::string file;
  std::vector<std::string> includes;  // the other files that it was read from
  std::vector<std::string> set;       // what a command line changed in it: "hardware.nodes=40"
  std::vector<AskedModel> models;
  Space hardware;
  Space batch;  // with tokens and steps
  std::optional<RampUp> rampup;
  std::vector<AskedStrategy> strategies;
  // How its runs learn: each in every one of these ways, one for each choice from the lists that
  // fields have, and which fields those are.
  std::vector<Training> trainings{Training{}};
  std::vector<std::string> swept;
  std::int64_t repeats = 1;  // of every run, to see how far its times vary
  std::vector<Constraint> constraints;
  Budget budget;
  std::vector<Expectation> expect;  // of its runs; part of none of them
  Calendar calendar;
  std::optional<Shapes> shapes;  // only a search looks at them; a plan takes the model as it is
  Slurm job;                     // what the experiment says over the partition's words
  std::string trainer;           // the program of each rank; empty: the backend's own
  std::string stack;             // what that is; empty: named after the trainer
  bool strict = false;           // warnings reject
};

// Whether so many GPU-hours and this training keep the experiment's budget and deadline.
bool keeps_limits(const Experiment& experiment, double gpu_hours,
                  const std::vector<Portion>& portions);
bool has_limits(const Budget& budget);

// Everything that came of an experiment.
struct Plan {
  std::vector<Run> runs;
  std::vector<Rejected> rejected;
};

}  // namespace orch::plan
