#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/estimate.h"
#include "core/plan/value.h"
#include "core/record/states.h"
#include "core/record/statistics/interval.h"
#include "core/record/statistics/steps.h"

namespace orch::record {

// A known fact about a run, by its name in Lua: tensor_parallel, micro_batch, ...
struct RecordField {
  std::string name;
  plan::Value value;     // always given
  bool assumed = false;  // not stated: a habit of the framework or of the source
  bool operator==(const RecordField&) const = default;
};

std::string text(const plan::Value& value);  // "true", "8", "0.5", "bf16"; "" for no value

// The origin of a record.
struct Origin {
  std::string kind;  // run (a run folder), log, table (a row), plan (nothing was measured)
  std::string file;  // the log, the table, or the run folder
  std::int64_t first_line = 0, last_line = 0;  // in a log or table, from 1; 0: unknown
  std::string date;                            // YYYY-MM-DD, as far as known
  double start = 0, end = 0;                   // seconds since 1970; 0: unknown
  std::string experiment, experiment_file, cluster_file, commit;
  std::string job;                                            // ids, separated by ", "
  std::vector<std::string> nodes;                             // names
  std::vector<std::pair<std::string, std::string>> versions;  // torch 2.11, orch 0.6, nccl ...
};

// A point of the loss curve.
struct LossPoint {
  std::int64_t step = 0;
  double tokens = 0;  // trained on so far; 0: unknown
  double loss = 0;    // finite
};

// A value at a step.
struct StepPoint {
  std::int64_t step = 0;
  double value = 0;
};

// A jump of the loss, after a resume or anywhere.
struct Spike {
  std::int64_t step = 0;
  double before = 0, peak = 0;
  std::int64_t recovered = 0;  // the first step at the old level; 0: never
  bool at_resume = false;
};

struct Tflops {
  double value = 0;        // per GPU
  std::string convention;  // megatron, simple8, simple6, deepspeed-profiler, log (as printed)
  bool computed = false;   // computed by us from time and size; else it was stated
};

// A node or rank that is slower, or uses more memory, than the others.
struct OutlierNode {
  std::string name;  // its name in the log
  double value = 0, typical = 0;
  std::string what;  // "seconds per step", "peak memory"
};

// Measured values. An unknown value is absent, never 0.
struct Measurement {
  std::optional<statistics::Interval> step_seconds;
  std::string step_seconds_from;  // the origin if it is not the median of steps: "512 samples /
                                  // 3.663 samples per second (train_samples_per_second)"
  statistics::StepWindow window;
  std::vector<statistics::OutlierStep> odd_steps;
  std::size_t odd_step_count = 0;
  std::vector<OutlierNode> odd_nodes;
  std::optional<double> tokens_per_second, days_per_100b_tokens;
  std::optional<double> samples_per_second;  // as the source states it
  std::vector<Tflops> tflops;                // one per convention, the stated ones first
  std::optional<double> peak_memory_bytes;   // of the fullest rank
  std::string peak_memory_from;  // "max reserved", "nvidia-smi", "max allocated", "Max_CA"
  std::optional<double> host_memory_bytes;
  std::optional<double> gpu_hours;
  std::optional<double> last_loss;
  std::int64_t steps = 0;           // the last one done
  std::int64_t steps_planned = 0;   // 0: unknown
  std::int64_t restarts = 0;        // number of starts after the first one in this record
  std::int64_t repeated_steps = 0;  // steps repeated after a restart; the later ones count
  std::int64_t skipped_steps = 0, nan_steps = 0;
  std::vector<LossPoint> losses;      // thinned to a few thousand points, keeping extremes
  std::vector<StepPoint> step_times;  // seconds, thinned to a few hundred points, keeping extremes
  std::vector<StepPoint> peaks;       // bytes of the fullest rank so far, at increases
  std::vector<StepPoint> gpu_use;     // share of the time in which a GPU was busy, mean over GPUs
  std::vector<StepPoint> gpu_watts;   // power of a GPU, mean over GPUs
  std::vector<std::int64_t> resumes;  // steps at which the run resumed
  std::vector<Spike> spikes;
  std::vector<plan::EstimateItem> time_items;  // seconds per step
  // Seconds since the first start by use, and their sum, of a run that lost some; by the kinds of
  // the estimate's lost time: computing, repeated, restarts, saving, queue; other, sum.
  std::vector<plan::EstimateItem> spent;
  std::vector<plan::EstimateItem> memory_items;  // bytes per rank; not in records' JSON
  // Quantities (quantities.h) that the source states and that have no member, by name.
  std::map<std::string, double, std::less<>> stated;

  // Sets the time of a step and its course from these (there must be some); returns further
  // results.
  statistics::StepTimes take(const std::vector<statistics::TimedStep>& steps_timed);
};

// The share of the time since the first start that computed steps that count; nothing: unknown.
std::optional<double> goodput(const Measurement& measured);

// "81.3 % of 5.2 hours since the first start; lost: saving 10.2 %, …"; empty: unknown.
std::string goodput_text(const Measurement& measured);

// A reason not to trust a number.
struct Doubt {
  std::string kind;    // topology, batch, over_peak, tflops, swapped, memory, unit ...
  std::string field;   // the field that is likely wrong, or several separated by ", "
  std::string reason;  // a sentence with the numbers
};

// What happened: one run, as recorded in a run folder, a log or a published table.
struct Record {
  std::string id;      // a run's id, a row's id, or "file.out#2"
  std::string source;  // the experiment, the table's source, or the log's name
  std::string table;
  std::vector<RecordField> fields;  // in the order of field_names()
  // Other settings that the program printed, by its names for them.
  std::vector<std::pair<std::string, std::string>> arguments;
  Origin origin;
  RunState state =
      RunState::planned;  // finished, failed, running (a log without an end), stopped, ...
  Failure failure = Failure::none;
  std::string reason;  // the text that shows the state, printable
  Measurement measured;
  std::optional<plan::Estimate> estimated;
  std::string not_estimated;  // why there is no estimate
  std::vector<Doubt> doubts;
  std::string notes;
  std::vector<std::string> assumptions;  // "name value (why)": values not stated, taken from habits

  const plan::Value* field(std::string_view name) const;  // null: unknown
  std::string field_text(std::string_view name) const;    // "": unknown
  // Nothing if it is unknown or of another type.
  std::optional<double> field_number(std::string_view name) const;
  std::optional<std::int64_t> whole(std::string_view name) const;
  std::optional<bool> flag(std::string_view name) const;
  // No value removes the field.
  void set(std::string_view name, plan::Value value, bool assumed = false);
  bool has_measurement() const;  // a time, a rate, TFLOPs, memory or a loss
};

// The names of plan::vocabulary() that records use, in its order. Others come after these.
const std::vector<std::string>& field_names();
// These, then the other fields of the records, as they appear.
std::vector<std::string> field_names(const std::vector<const Record*>& records);

// True if the loss was NaN when the run ended.
bool lost_loss(const Measurement& measured);

// "NaN in 50 of 100 steps, from step 51 on"; empty: the loss was always a number.
std::string nan_text(const Measurement& measured);

}  // namespace orch::record
