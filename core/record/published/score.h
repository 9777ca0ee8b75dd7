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

using Predict = std::function<Result<plan::Estimate>(const Sample&)>;

// A sample beside its prediction.
struct Judged {
  const Sample* sample = nullptr;
  plan::Estimate prediction;
  bool gave_factor = false;  // used to calibrate: says nothing about the time of others

  bool has_time() const { return sample->step_seconds.has_value() && !gave_factor; }
  double memory_bytes() const;  // predicted, where the sample's was measured
  double error() const;         // of the step time, signed, in percent; has_time()
  double memory_error() const;  // the same of memory; the sample has one
};

// How good predictions are. Errors, regret and coverage are percentages; what cannot be said of so
// few rows is missing.
struct Score {
  std::size_t n = 0;  // rows with a step time
  std::optional<double> mape, median, p90, bias;
  // Rank correlation of measured and predicted seconds within a table, ties averaged. Of a source:
  // the mean over its tables, each weighted by its rows less one.
  std::optional<double> spearman;
  // What following the prediction costs: measured time of the predicted-best choice over that of
  // the best, less 1. See regret(). Of a source: the mean over its tables that offer a choice.
  std::optional<double> regret;
  std::optional<double> coverage90;  // step times inside their range
  std::size_t memory_n = 0;
  std::optional<double> memory_mape;
  std::size_t oom_hit = 0, oom_miss = 0;  // ran out of memory, and that was predicted or not
  std::size_t oom_false_alarm = 0;        // ran, though predicted to run out of memory

  // Of the runs out of memory those that were predicted, of the predicted those that were, in
  // percent.
  std::optional<double> recall() const;
  std::optional<double> precision() const;
};

// What a source's rows are scored by: its tables, or models of one size (whatever the table).
enum class By { table, size };

// By name. Samples that are shown apart have names with " (unexplained)", and those of which only
// the number of parameters is known with " (sizes assumed)".
struct Scores {
  std::map<std::string, Score> by_source, by_table;
  std::map<std::string, std::vector<std::string>> tables;  // of each source, in by_table

  // Names of what is off by more percent than that in the mean, of `scores`.
  static std::vector<std::string> beyond(const std::map<std::string, Score>& scores,
                                         double percent);
};

// Predicts every sample; the first failure of a backend ends it.
Result<std::vector<Judged>> judge(const std::vector<Sample>& samples, const Predict& predict);

// One scalar per table, measured / predicted of its first row with a step time, raised to the power
// 0.3 (one row is noisy: the full factor hurts where a profile is already good) and applied to the
// other rows. The first rows themselves no longer count.
void calibrate_on_first(std::vector<Judged>& judged);

// The score of some rows taken as one table.
Score score_table(const std::vector<const Judged*>& rows);

// Scores of all tables and sources; the samples whose ids are in apart, and those with assumed
// sizes, are scored on their own.
Scores score(const std::vector<Judged>& judged, const std::set<std::string>& apart,
             By by = By::table);

// Whether a score's name says that its samples are shown apart.
bool is_apart(const std::string& name);

// The name of a sample's source in the scores.
std::string shown_source(const Sample& sample, const std::set<std::string>& apart);

// Spearman's rank correlation, ties averaged; nothing for fewer than three values or a constant.
std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b);

// Rows of one table are choices between each other when they have the same number of GPUs and the
// same global batch (to 1 %), and models whose sizes differ by at most 15 %. They compare by
// seconds per model FLOP (without recomputation), so that the larger model is not blamed for its
// size. Rows with the same prediction are one choice, measured by their mean; a row that is
// predicted not to fit is no pick as long as another one is. The regret of a table is the mean over
// its sets of choices.
std::optional<double> regret(const std::vector<const Judged*>& rows);

// The name of the table that a sample is shown under: with its source where two sources have a
// table of that name.
std::map<std::pair<std::string, std::string>, std::string> table_names(
    const std::vector<Judged>& judged);

}  // namespace orch::published
