#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/record/ingest/rules.h"
#include "core/record/ingest/series.h"

namespace orch::ingest {

// The settings of a run that its log has stated so far.
class LoggedSettings {
 public:
  static constexpr int kGiven = 10'000;  // weight of settings that the user gives for a log
  struct Cell {
    double number = 0;
    std::string text;
    int weight = -1;  // of the rule that set it; -1: not set
    bool assumed = false;
  };
  // Settings from facts outside a log. Names that are not targets of patterns are ignored, since
  // only tables have them.
  static LoggedSettings of(const KnownFacts& known, int weight);
  // Takes the settings of a line. A rule does not replace settings from rules of higher weight.
  void take(const TargetValues& values, int weight, bool assumed = false);
  void merge(const LoggedSettings& later);
  // Copies the settings that are not set yet.
  void fill(const LoggedSettings& other);

  bool has(IngestTarget target) const { return cell(target).weight >= 0; }
  std::optional<double> number(IngestTarget target) const;
  std::optional<std::int64_t> whole(IngestTarget target) const;
  std::optional<bool> flag(IngestTarget target) const;
  const std::string& text(IngestTarget target) const { return cell(target).text; }
  bool is_given(IngestTarget target) const { return cell(target).weight >= kGiven; }
  bool is_assumed(IngestTarget target) const { return cell(target).assumed; }
  // True if both have a setting that distinguishes runs (tells_apart), with different values.
  bool contradicts(const LoggedSettings& other) const;

 private:
  const Cell& cell(IngestTarget target) const { return cells_[static_cast<std::size_t>(target)]; }
  std::array<Cell, kSettings> cells_;
};

// A kind of memory that logs report. kMemoryKinds begins with the kind that is closest to the
// memory in use on the device.
struct MemoryKind {
  IngestTarget target;
  const char* words;
  bool before_steps;  // a value printed before the training also counts
};
inline constexpr std::array kMemoryKinds{
    MemoryKind{IngestTarget::device_memory, "in use", true},
    MemoryKind{IngestTarget::max_reserved, "max reserved", true},
    MemoryKind{IngestTarget::max_cached, "Max_CA", false},
    MemoryKind{IngestTarget::max_allocated, "max allocated", true},
    MemoryKind{IngestTarget::max_active, "Max_MA", false}};
// The peaks of one rank in bytes, in the order of kMemoryKinds; 0: not known.
using RankMemory = std::array<double, kMemoryKinds.size()>;

// A progress bar of `total` steps. Its rate is an average over the last steps, so the time of a
// step is computed from the steps and the elapsed time that it shows.
struct ProgressBar {
  std::int64_t total = 0, last = 0;
  double last_elapsed = 0;
  std::int64_t first = 0;   // first step that was shown with a rate
  std::uint64_t moves = 0;  // number of steps that were shown with a rate
  LogStopwatch watch;
};

// The unit of work that a time in a log is for: a step, a sample or token (from a rate), or the
// last micro-batch of a step. Earlier values are preferred.
enum class TimedWork : std::uint8_t {
  step,
  sample,
  sample_of_gpu,
  token,
  token_of_gpu,
  micro_batch,
  none
};

// The time of a step in its line: seconds per unit of work.
struct LoggedPace {
  double seconds = 0;  // 0: the line has no time
  TimedWork work = TimedWork::none;
};

// A counter that grows with every step, such as samples or tokens so far.
class Counter {
 public:
  void tell(std::int64_t step, double value);
  double each() const { return each_; }  // growth per step in the last lines; 0: unknown

 private:
  std::int64_t step_ = 0;
  double value_ = 0, each_ = 0;
};

// The most severe evidence so far that a run failed or was cancelled.
struct FailureSign {
  record::Failure failure = record::Failure::none;
  bool cancelled = false;
  int priority = -1;  // -1: no failure so far
  std::string words;
  int steps_since = 0;
  bool certain = false;  // the failure ends a program; a traceback may be a warning

  bool is_there() const { return priority >= 0; }
  // True if a line about the end of the program revokes the failure. A program that is asked to
  // stop ends normally; after an error, the other ranks may still print their last messages.
  bool is_taken_back(const Rule& end) const;
  // Keeps the failure of a rule if it is more severe. Rules without a failure have no effect.
  void note(const Rule& rule, std::string_view line);
  // Counts a step after the failure. After two of them the failure is removed.
  void pass_step();
};
std::string words_of(std::string_view line);  // shortened for messages

// The data of one run, collected while its log is read. Its size is bounded for any log.
struct LoggedRun {
  LoggedSettings settings;
  std::set<std::string> frameworks;
  std::set<std::string> hints;      // frameworks of rules whose lines are not unique to them
  const Rule* last_rule = nullptr;  // the last rule whose framework was added
  std::set<const Rule*> marks;      // rules that marked the beginning of the run
  std::map<std::string, std::string> more, versions;
  std::map<std::string, std::string> arguments;       // arguments that no rule reads, by name
  std::map<std::string, double, std::less<>> stated;  // last value of each quantity
  std::set<std::string> jobs;
  std::set<std::int64_t> world_sizes;  // from the rules that know it best
  std::uint64_t first_line = 0, last_line = 0;
  std::string first_stamp, last_stamp;

  // Steps, from the kind of line with the highest weight.
  int step_weight = -1;
  LoggedStepTimes times;
  TimedWork work = TimedWork::none;  // the unit of work of the times
  LogStopwatch watch;                // the same steps, timed by the dates of their lines
  SampleReservoir tflops, tflops_profiler, samples_per_second, samples_per_second_per_gpu;
  SampleReservoir tokens_per_second, tokens_per_second_per_gpu;
  Counter samples, tokens, micro_batches;
  // The log counts micro-batches as steps and does not show which one ends a step.
  bool counts_micro_batches = false;
  // Numbers that lines call "time": readings of a clock or durations of steps.
  LoggedStepTimes numbered;
  double last_number = 0;
  std::string step_framework;  // the framework whose lines report the steps
  bool tflops_before = false;  // `tflops` of a step are printed before its line
  std::string step_label;
  std::int64_t first_step = -1, last_step = -1;
  double first_batch = 0, batch = 0;  // global batch of the first and last step; 0: unknown
  double seq = 0;
  std::uint64_t timeless = 0;    // number of steps with an invalid time
  bool means = false;            // times are means over the steps since the previous line
  std::uint64_t ramp_steps = 0;  // steps with another batch size than the last ones
  std::int64_t skipped = 0, nan = 0;
  std::int64_t overflows = 0;  // number of separate lines that report a skipped step

  // The mean time of the steps of each label, without the first step. Only for lines with labels.
  struct Mean {
    double sum = 0;
    std::uint64_t count = 0;
  };
  std::map<std::string, Mean, std::less<>> rank_seconds;

  int loss_weight = -1;
  LossCurve losses;
  std::string loss_label;
  double last_loss = 0, last_epoch = -1;  // of the last line with a loss
  std::int64_t loss_count = 0;
  bool mean_is_nan = false;  // the mean loss of the whole training is NaN

  std::map<std::string, RankMemory> memory;  // by rank
  double host_memory = 0;
  std::vector<record::StepPoint> peaks;         // of the rank with the highest peak so far
  std::size_t peak_kind = kMemoryKinds.size();  // index of their kind; size(): none
  std::map<std::pair<std::int64_t, std::int64_t>, double> rank_params;
  std::map<std::string, SampleReservoir, std::less<>> timers;  // seconds
  std::vector<ProgressBar> bars;

  // Restarts and resumes.
  bool start_waits = true;          // the next step is the first after a start
  bool resume_waits = false;        // the same, and it was not the first start
  bool copying = false;             // the current lines are copies of earlier ones
  std::int64_t resumed_after = -1;  // the step of the checkpoint that was loaded
  std::int64_t restarts = 0, repeated = 0;
  std::int64_t saved = -1;  // the step of the last checkpoint
  std::vector<std::int64_t> resumes;

  // The end of the run.
  bool finished = false, stopped = false;
  std::string end_words;
  FailureSign sign;
  std::map<IngestTarget, double> totals;  // train_runtime and similar
  std::string after_end;                  // a failure after the training was done

  bool has_steps() const { return last_step >= 0 || !totals.empty(); }
  bool has_ended() const { return finished || stopped || sign.is_there(); }
  // True if this is a run: it made progress or failed, or a line marks its beginning.
  bool says_anything() const;

  // Copies the settings of the run that this one repeats.
  void take_settings(const LoggedRun& before);
  // Adds what a later start of the same run printed before its first step.
  void merge_start(const LoggedRun& later);

 private:
  void merge_bars(const LoggedRun& later);
};

}  // namespace orch::ingest
