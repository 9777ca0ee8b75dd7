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

// The settings of a run, as far as a log has said them.
class LoggedSettings {
 public:
  static constexpr int kGiven = 10'000;  // the weight of what a person says of a log
  struct Cell {
    double number = 0;
    std::string text;
    int weight = -1;  // of the rule that said so; -1: nobody did
    bool assumed = false;
  };
  // What is known besides a log. Names that patterns do not have are of tables alone.
  static LoggedSettings of(const KnownFacts& known, int weight);
  // What a line says; a lighter rule does not replace what a heavier one said.
  void take(const TargetValues& values, int weight, bool assumed = false);
  void merge(const LoggedSettings& later);
  // What nobody has said so far.
  void fill(const LoggedSettings& other);

  bool has(IngestTarget target) const { return cell(target).weight >= 0; }
  std::optional<double> number(IngestTarget target) const;
  std::optional<std::int64_t> whole(IngestTarget target) const;
  std::optional<bool> flag(IngestTarget target) const;
  const std::string& text(IngestTarget target) const { return cell(target).text; }
  bool is_given(IngestTarget target) const { return cell(target).weight >= kGiven; }
  bool is_assumed(IngestTarget target) const { return cell(target).assumed; }
  // Whether both name a setting that tells runs apart, and differently.
  bool contradicts(const LoggedSettings& other) const;

 private:
  const Cell& cell(IngestTarget target) const { return cells_[static_cast<std::size_t>(target)]; }
  std::array<Cell, kSettings> cells_;
};

// How memory is told, first what comes nearest to what the device really holds.
struct MemoryKind {
  IngestTarget target;
  const char* words;
  bool before_steps;  // also what is told before training begins is a peak of it
};
inline constexpr std::array kMemoryKinds{
    MemoryKind{IngestTarget::device_memory, "in use", true},
    MemoryKind{IngestTarget::max_reserved, "max reserved", true},
    MemoryKind{IngestTarget::max_cached, "Max_CA", false},
    MemoryKind{IngestTarget::max_allocated, "max allocated", true},
    MemoryKind{IngestTarget::max_active, "Max_MA", false}};
// The peaks of one rank in bytes, by these; 0: not given.
using RankMemory = std::array<double, kMemoryKinds.size()>;

// A progress bar of so many steps. The rate it shows is an average of the last ones, so times are
// taken from what it has counted.
struct ProgressBar {
  std::int64_t total = 0, last = 0;
  double last_elapsed = 0;
  std::int64_t first = 0;   // the first step that it showed with a rate
  std::uint64_t moves = 0;  // steps that it showed with a rate
  LogStopwatch watch;
};

// What a time is told for: a step, a sample or token of a rate, or the last micro-batch of a step.
// The first ones say more.
enum class TimedWork : std::uint8_t {
  step,
  sample,
  sample_of_gpu,
  token,
  token_of_gpu,
  micro_batch,
  none
};

// The time of a step as its line says it: so many seconds for each piece of work.
struct LoggedPace {
  double seconds = 0;  // 0: the line says none
  TimedWork work = TimedWork::none;
};

// What grows with every step: samples and tokens so far.
class Counter {
 public:
  void tell(std::int64_t step, double value);
  double each() const { return each_; }  // of one step, by the last lines; 0: not known

 private:
  std::int64_t step_ = 0;
  double value_ = 0, each_ = 0;
};

// The gravest sign so far that a run failed or was cancelled.
struct FailureSign {
  record::Failure failure = record::Failure::none;
  bool cancelled = false;
  int priority = -1;  // -1: there is none
  std::string words;
  int steps_since = 0;
  bool certain = false;  // ends a program, unlike a traceback that may be a warning

  bool is_there() const { return priority >= 0; }
  // Whether a line about the end of the program takes the failure back. A program that is asked to
  // stop ends normally; after an error the other ranks still print their last messages.
  bool is_taken_back(const Rule& end) const;
  void note(const Rule& rule, std::string_view line);  // nothing, where the rule is of no failure
  // A step was done: after some of them it is overcome.
  void pass_step();
};
std::string words_of(std::string_view line);  // as people are told of it

// What a log tells of one run, while it is read. Its size is bounded, whatever the log.
struct LoggedRun {
  LoggedSettings settings;
  std::set<std::string> frameworks;
  std::set<std::string> hints;      // of rules whose lines other frameworks may have as well
  const Rule* last_rule = nullptr;  // whose framework is among them
  std::set<const Rule*> marks;      // of its beginning
  std::map<std::string, std::string> more, versions;
  std::map<std::string, std::string> arguments;       // without a rule, by name
  std::map<std::string, double, std::less<>> stated;  // quantities by name, as last told
  std::set<std::string> jobs;
  std::set<std::int64_t> world_sizes;  // of rules that should know
  std::uint64_t first_line = 0, last_line = 0;
  std::string first_stamp, last_stamp;

  // Steps, by the best kind of line that tells of them.
  int step_weight = -1;
  LoggedStepTimes times;
  TimedWork work = TimedWork::none;  // that a time of them is of
  LogStopwatch watch;                // the same steps by the dates of their lines
  SampleReservoir tflops, tflops_profiler, samples_per_second, samples_per_second_per_gpu;
  SampleReservoir tokens_per_second, tokens_per_second_per_gpu;
  Counter samples, tokens, micro_batches;
  bool counts_micro_batches = false;  // as its steps: nothing says which of them is the last of one
  // Numbers that lines call a time: moments of some clock, or what each step took.
  LoggedStepTimes numbered;
  double last_number = 0;
  std::string step_framework;  // whose lines tell the steps
  bool tflops_before = false;  // they are told before their step
  std::string step_label;
  std::int64_t first_step = -1, last_step = -1;
  double first_batch = 0, batch = 0;  // of steps; 0: they do not say
  double seq = 0;
  std::uint64_t timeless = 0;    // steps with a time that cannot be one
  bool means = false;            // a line tells the mean time of the steps since the one before
  std::uint64_t ramp_steps = 0;  // with a smaller batch than the last ones
  std::int64_t skipped = 0, nan = 0;
  std::int64_t overflows = 0;  // lines of their own that say a step was skipped

  // The mean time of each label's steps but the first, where lines have labels.
  struct Mean {
    double sum = 0;
    std::uint64_t count = 0;
  };
  std::map<std::string, Mean, std::less<>> rank_seconds;

  int loss_weight = -1;
  LossCurve losses;
  std::string loss_label;
  double last_loss = 0, last_epoch = -1;  // as they were told
  std::int64_t loss_count = 0;
  bool mean_is_nan = false;  // of the whole training

  std::map<std::string, RankMemory> memory;  // by rank
  double host_memory = 0;
  std::vector<record::StepPoint> peaks;         // of the fullest rank so far
  std::size_t peak_kind = kMemoryKinds.size();  // that they are of; its size: none
  std::map<std::pair<std::int64_t, std::int64_t>, double> rank_params;
  std::map<std::string, SampleReservoir, std::less<>> timers;  // seconds
  std::vector<ProgressBar> bars;

  // How it went on.
  bool start_waits = true;          // the next step is the first after a start
  bool resume_waits = false;        // and the start was not the first one
  bool copying = false;             // the steps that come are those of before, word for word
  std::int64_t resumed_after = -1;  // the step that the start behind it goes on from
  std::int64_t restarts = 0, repeated = 0;
  std::int64_t saved = -1;  // the step of the last checkpoint
  std::vector<std::int64_t> resumes;

  // How it ended.
  bool finished = false, stopped = false;
  std::string end_words;
  FailureSign sign;
  std::map<IngestTarget, double> totals;  // train_runtime and its kind
  std::string after_end;                  // what failed when all was done

  bool has_steps() const { return last_step >= 0 || !totals.empty(); }
  bool has_ended() const { return finished || stopped || sign.is_there(); }
  // Whether it is a run: it did something, or a line said that one begins.
  bool says_anything() const;

  // Those of a run of which this one is a repeat.
  void take_settings(const LoggedRun& before);
  // What a later start of the same run said before its first step.
  void merge_start(const LoggedRun& later);

 private:
  void merge_bars(const LoggedRun& later);
};

}  // namespace orch::ingest
