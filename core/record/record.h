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

// One thing that is known of what was run, by its name in Lua: tensor_parallel, micro_batch, ...
struct Field {
  std::string name;
  plan::Value value;     // given
  bool assumed = false;  // nobody said so: a habit of the framework or of the source
  bool operator==(const Field&) const = default;
};

std::string text(const plan::Value& value);  // "true", "8", "0.5", "bf16"; "": not given

// Where a record is from.
struct Origin {
  std::string kind;  // run (a run folder), log, table (a row), plan (nothing was measured)
  std::string file;  // the log, the table, or the run folder
  std::int64_t first_line = 0, last_line = 0;  // of a log or table, from 1; 0: not known
  std::string date;                            // YYYY-MM-DD, or as far as it is known
  double start = 0, end = 0;                   // seconds since 1970; 0: not known
  std::string experiment, experiment_file, cluster_file, commit;
  std::string job;                                            // ids, separated by ", "
  std::vector<std::string> nodes;                             // names
  std::vector<std::pair<std::string, std::string>> versions;  // torch 2.11, orch 0.6, nccl ...
};

// A point of the loss curve.
struct LossPoint {
  std::int64_t step = 0;
  double tokens = 0;  // trained on so far; 0: not known
  double loss = 0;    // finite
};

// A value at a step.
struct StepPoint {
  std::int64_t step = 0;
  double value = 0;
};

// A jump of the loss at a place where the run was resumed, or anywhere.
struct Spike {
  std::int64_t step = 0;
  double before = 0, peak = 0;
  std::int64_t recovered = 0;  // the first step that is back; 0: never
  bool at_resume = false;
};

struct Tflops {
  double value = 0;  // per GPU
  std::string
      convention;         // megatron, simple8, simple6, deepspeed-profiler, log (as it was printed)
  bool computed = false;  // by us, from time and size; else it was stated
};

// A node or rank that is slower, or fuller, than the others.
struct OddNode {
  std::string name;  // as the log calls it
  double value = 0, typical = 0;
  std::string what;  // "seconds per step", "peak memory"
};

// What was measured. Absent is absent: 0 is never "not known".
struct Measurement {
  std::optional<statistics::Interval> step_seconds;
  std::string step_seconds_from;  // how, where it is not the median of steps: "512 samples / 3.663
                                  // samples per second (train_samples_per_second)"
  statistics::Window window;
  std::vector<statistics::OddStep> odd_steps;
  std::size_t odd_step_count = 0;
  std::vector<OddNode> odd_nodes;
  std::optional<double> tokens_per_second, days_per_100b_tokens;
  std::optional<double> samples_per_second;  // as the source states it
  std::vector<Tflops> tflops;                // one per convention, the stated ones first
  std::optional<double> peak_memory_bytes;   // of the fullest rank
  std::string peak_memory_from;  // "max reserved", "nvidia-smi", "max allocated", "Max_CA"
  std::optional<double> host_memory_bytes;
  std::optional<double> gpu_hours;
  std::optional<double> last_loss;
  std::int64_t steps = 0;           // the last one done
  std::int64_t steps_planned = 0;   // 0: not known
  std::int64_t restarts = 0;        // starts after the first in this record
  std::int64_t repeated_steps = 0;  // done twice after a restart, the later ones count
  std::int64_t skipped_steps = 0, nan_steps = 0;
  std::vector<LossPoint> losses;      // thinned to some thousand points, the extremes kept
  std::vector<StepPoint> step_times;  // seconds, thinned to some hundred points, the extremes kept
  std::vector<StepPoint> peaks;       // bytes of the fullest rank so far, where they rise
  std::vector<StepPoint> gpu_use;     // share of the time that a GPU was busy, the mean of them
  std::vector<StepPoint> gpu_watts;   // of a GPU, the mean of them
  std::vector<std::int64_t> resumes;  // steps at which the run was resumed
  std::vector<Spike> spikes;
  std::vector<plan::Item> time_items;    // seconds of one step
  std::vector<plan::Item> memory_items;  // bytes of one rank; not in records' JSON
  // Quantities (quantities.h) that the source states and no member holds, by name.
  std::map<std::string, double, std::less<>> stated;

  // The time of a step and its course by these, of which there are some; gives what else they tell.
  statistics::StepTimes take(const std::vector<statistics::TimedStep>& steps_timed);
};

// Why a number is not to be believed.
struct Doubt {
  std::string kind;    // topology, batch, over_peak, tflops, swapped, memory, unit ...
  std::string field;   // the one that is likely wrong, or several with ", "
  std::string reason;  // a sentence with the numbers
};

// What happened: one run, as a run folder, a log or a published table tells it.
struct Record {
  std::string id;      // a run's id, a row's id, or "file.out#2"
  std::string source;  // the experiment, the table's source, or the log's name
  std::string table;
  std::vector<Field> fields;  // in the order of field_names()
  Origin origin;
  State state = State::planned;  // finished, failed, running (a log that just ends), stopped, ...
  Failure failure = Failure::none;
  std::string reason;  // the line or the words that say so, printable
  Measurement measured;
  std::optional<plan::Estimate> estimated;
  std::string not_estimated;  // why there is no estimate
  std::vector<Doubt> doubts;
  std::string notes;
  std::vector<std::string> assumptions;  // "name value (why)": what nobody said and a habit tells

  const plan::Value* field(std::string_view name) const;  // null: not known
  std::string field_text(std::string_view name) const;    // "": not known
  // Nothing: it is not known, or of another type.
  std::optional<double> field_number(std::string_view name) const;
  std::optional<std::int64_t> whole(std::string_view name) const;
  std::optional<bool> flag(std::string_view name) const;
  // A value that is not given takes the field out.
  void set(std::string_view name, plan::Value value, bool assumed = false);
  bool has_measurement() const;  // a time, a rate, TFLOPs, memory or a loss
};

// The names of plan::vocabulary() that records have, in its order. Others come after these.
const std::vector<std::string>& field_names();

// Whether the loss was no number any more when the run ended.
bool lost_loss(const Measurement& measured);

// "NaN in 50 of 100 steps, from step 51 on"; empty: the loss always was a number.
std::string nan_text(const Measurement& measured);

}  // namespace orch::record
