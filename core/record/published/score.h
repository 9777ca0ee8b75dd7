#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/estimate.h"
#include "core/record/published/samples.h"

namespace orch::published {

using Predict = std::function<Result<plan::Estimate>(const PublishedSample&)>;

// A sample with its prediction.
struct JudgedSample {
  const PublishedSample* sample = nullptr;
  plan::Estimate prediction;
  bool gave_factor = false;  // used for the calibration: its time error does not count

  bool has_time() const { return sample->step_seconds.has_value() && !gave_factor; }
  double memory_bytes() const;  // predicted, in the place where the sample's was measured
  double error() const;         // step time, signed, in percent; needs has_time()
  double memory_error() const;  // the same for memory; the sample must have one
};

// The quality of predictions. Errors, regret and coverage are percentages; values that need more
// rows are missing.
struct GroupScore {
  std::size_t n = 0;  // number of rows with a step time
  std::optional<double> mape, median, p90, bias;
  // Rank correlation of measured and predicted seconds within a table, ties averaged. For a source:
  // the mean over its tables, each weighted by its number of rows minus one.
  std::optional<double> spearman;
  // The cost of following the prediction: measured time of the predicted-best choice over that of
  // the best, minus 1. See regret(). For a source: the mean over its tables with a choice.
  std::optional<double> regret;
  std::optional<double> coverage90;  // share of step times inside their range
  std::size_t memory_n = 0;
  std::optional<double> memory_mape;
  std::size_t oom_hit = 0, oom_miss = 0;  // out of memory, predicted and not predicted
  std::size_t oom_false_alarm = 0;        // ran, though predicted to run out of memory

  // The share of out-of-memory runs that were predicted, and the share of out-of-memory predictions
  // that were right, in percent.
  std::optional<double> recall() const;
  std::optional<double> precision() const;
};

// How a source's rows are grouped into scores: by its tables, or by model size.
enum class ScoreGrouping { table, size };

// Scores by name. Samples that are scored separately have names with " (unexplained)", and those of
// which only the number of parameters is known with " (sizes assumed)".
struct Scores {
  std::map<std::string, GroupScore> by_source, by_table;
  std::map<std::string, std::vector<std::string>> tables;  // by source, names in by_table

  // Names in `scores` whose mean error is above that percentage.
  static std::vector<std::string> beyond(const std::map<std::string, GroupScore>& scores,
                                         double percent);
};

// Predicts every sample; the first failure of a backend is returned.
Result<std::vector<JudgedSample>> judge(const std::vector<PublishedSample>& samples,
                                        const Predict& predict);

// Multiplies the predictions of each table by one factor: measured / predicted of its first row
// with a step time, to the power of 0.3 (a single row is noisy: the full factor makes already good
// predictions worse). The first rows themselves no longer count.
void calibrate_on_first(std::vector<JudgedSample>& judged);

// The score of rows as one table.
GroupScore score_table(const std::vector<const JudgedSample*>& rows);

// Scores of all tables and sources; samples whose ids are in apart, and those with assumed sizes,
// are scored separately.
Scores score(const std::vector<JudgedSample>& judged, const std::set<std::string>& apart,
             ScoreGrouping by = ScoreGrouping::table);

// True if a score's name belongs to samples that are scored separately.
bool is_apart(const std::string& name);

// The name of a sample's source in the scores.
std::string shown_source(const PublishedSample& sample, const std::set<std::string>& apart);

// Spearman's rank correlation, ties averaged; nothing for fewer than three values or constant
// values.
std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b);

// Rows of one table are alternatives if they have the same number of GPUs and the same global batch
// (to 1 %), and models whose sizes differ by at most 15 %. They are compared by seconds per model
// FLOP (without recomputation), so that a larger model is not at a disadvantage. Rows with the same
// prediction are one choice, measured by their mean; a row that is predicted not to fit is chosen
// only if all are. The regret of a table is the mean over its sets of choices.
std::optional<double> regret(const std::vector<const JudgedSample*>& rows);

// Sets of rows with a step time that are alternatives to each other, as above; single rows are left
// out. Work: the FLOPs of a row's step.
std::vector<std::vector<const JudgedSample*>> comparable(
    const std::vector<const JudgedSample*>& rows);
double work_of(const JudgedSample& row);

// The name under which the table of a sample is shown: with its source if two sources have a table
// of that name.
std::map<std::pair<std::string, std::string>, std::string> table_names(
    const std::vector<JudgedSample>& judged);

}  // namespace orch::published
