#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/calendar.h"
#include "core/plan/cluster.h"
#include "core/plan/estimate.h"
#include "core/plan/run.h"
#include "core/plan/strategy.h"
#include "core/plan/training.h"
#include "core/plan/value.h"

namespace orch::plan {

// Returns the value of a field in this run; fills in and derives on demand.
using Lookup = std::function<Result<Value>(std::string_view field)>;

// A choice between points; each point gives every field of the axis a value. A plain value is an
// axis with one point, a list one with several, zip{} one with several fields.
struct SweepAxis {
  std::vector<std::string> fields;
  std::vector<std::vector<Value>> points;
};

// A field whose value a function derives from others.
struct DerivedField {
  std::string field;
  std::function<Result<Value>(const Lookup&)> value;
  std::string place = {};  // for messages; empty: the field's name
};

struct SweepSpace {
  std::vector<SweepAxis> axes;
  std::vector<DerivedField> derived;
};

struct AskedModel {
  std::string name;  // empty: named after its size
  SweepSpace space;
};

struct AskedStrategy {
  StrategyPtr strategy;
  SweepSpace space;
  std::string place;      // "strategies[2]", for messages
  std::string stack;      // the stack that it is estimated in; empty: the experiment's
  std::string framework;  // trainer and how it is started, as in Run
  std::string launch;
  std::vector<std::string> args;
  SlurmSettings job;  // environment and setup, overriding the experiment's
};

// A rule of the user: the answer is empty ("ok"), or why the run is rejected.
struct Constraint {
  std::string name;
  std::function<Result<std::string>(const Lookup&)> broken;
};

struct Budget {
  double gpu_hours = 0;  // 0: none
  double money = 0;      // in the currency of the clusters' prices; 0: none
  double energy_kwh = 0;
  double co2_kg = 0;
  double deadline_days = 0;  // calendar days from the start; 0: none
  std::optional<Date> deadline;
  std::int64_t reserve_nodes = 0;
};

// A target for runs, by the name of a measured quantity, and the accepted distance from it.
struct Expectation {
  std::string quantity;
  double value = 0;
  std::optional<double> below, above;  // as shares of the value; nothing: any distance
  std::string where;                   // runs that it is for: "strategy=ddp,gpus=8"; empty: all

  double least() const { return below ? value * (1 - *below) : 0; }
  std::optional<double> most() const {
    return above ? std::optional(value * (1 + *above)) : std::nullopt;
  }
  bool operator==(const Expectation&) const = default;
};

// The model shapes of some size, from which a search chooses.
struct Shapes {
  double params = 0;
  double tolerance = 0.02;           // of params, in both directions
  std::vector<std::int64_t> layers;  // empty: hidden / layers from 64 to 256
  std::int64_t hidden_multiple = 128;
  std::vector<std::int64_t> heads;  // empty: head_dim from 64 to 256 in steps of 16
};

// What was asked. If a field is in several spaces, the later one in this list wins: hardware,
// batch, model, strategy.
struct Experiment {
  std::string name;
  std::string doc;
  std::string file;
  std::vector<std::string> includes;  // other files that were read
  std::vector<std::string> set;       // what a command line changed in it: "hardware.nodes=40"
  std::vector<AskedModel> models;
  SweepSpace hardware;
  SweepSpace batch;  // with tokens and steps
  std::optional<RampUp> rampup;
  std::vector<AskedStrategy> strategies;
  // The values of `training`: every run is planned with each of them. Lists in fields give several,
  // and the names of those fields are kept.
  std::vector<Training> trainings{Training{}};
  std::vector<std::string> swept;
  std::int64_t repeats = 1;  // repetitions of every run, to measure the variation of its times
  std::vector<Constraint> constraints;
  Budget budget;
  std::vector<Expectation> expect;  // targets for its runs; not part of any run
  Calendar calendar;
  std::optional<Shapes> shapes;  // used by a search only; a plan takes the model as given
  SlurmSettings job;             // overrides the partition's SLURM options
  std::string trainer;           // the program of each rank; empty: the backend's own
  std::string stack;             // the stack of the trainer; empty: named after it
  bool strict = false;           // warnings reject runs
};

// A limit of a budget on what a training takes.
struct ExpenseLimit {
  const char* name;  // energy_kwh
  const char* unit;  // kWh
  double Budget::*limit;
  double Expense::*amount;
};
inline constexpr ExpenseLimit kExpenseLimits[] = {
    {"gpu_hours", "GPU-hours", &Budget::gpu_hours, &Expense::gpu_hours},
    {"money", "units of money", &Budget::money, &Expense::money},
    {"energy_kwh", "kWh", &Budget::energy_kwh, &Expense::energy_kwh},
    {"co2_kg", "kg of CO2", &Budget::co2_kg, &Expense::co2_kg}};

// True if this expense and this training are within the experiment's budget and deadline.
bool keeps_limits(const Experiment& experiment, const Expense& expense,
                  const std::vector<Portion>& portions);
bool has_limits(const Budget& budget);
// True if there is a limit on what only an estimate with failures knows: money, energy or CO2.
bool limits_expense(const Budget& budget);

// The runs of an experiment and its rejected ones.
struct Plan {
  std::vector<Run> runs;
  std::vector<RejectedRun> rejected;
};

}  // namespace orch::plan
