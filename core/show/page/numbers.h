#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record/record.h"

namespace orch::page {

using statistics::Interval;

// One quantity of a record as the page shows it. Values that follow from others are filled in;
// values that are not finite or not positive are left out. Limits of a measurement are a 95 %
// confidence interval; those of an estimate contain the true value in 90 % of cases.
struct MeasuredAndEstimated {
  std::optional<Interval> measured, estimated;

  // The error of the estimate in percent, positive if it is too large; empty if either is missing.
  std::optional<double> error() const;
};

struct PageNumbers {
  MeasuredAndEstimated step;    // seconds
  MeasuredAndEstimated rate;    // tokens per second
  MeasuredAndEstimated days;    // per 100B tokens
  MeasuredAndEstimated memory;  // bytes on the fullest GPU
  std::optional<double> memory_limit;

  // The error of the estimated step time.
  std::optional<double> error() const;
  // The value by which runs are ranked: days per 100B tokens, measured if available, else
  // estimated.
  const std::optional<Interval>& best_days() const {
    return days.measured ? days.measured : days.estimated;
  }
};

PageNumbers numbers_of(const record::Record& record);

// The names by which runs are grouped for comparison.
std::string strategy_of(const record::Record& record);    // the strategy, or else the framework
std::string model_of(const record::Record& record);       // its name or size; empty: unknown
std::string size_class_of(const record::Record& record);  // its name or rounded size

// The settings in which the records differ, without those that have their own column.
std::vector<std::string> differing_settings(const std::vector<const record::Record*>& records,
                                            const std::vector<std::string>& names);
// The values of these settings: "stage=3, recompute=full".
std::string variant_of(const record::Record& record, const std::vector<std::string>& settings);

// Why the speed of a run does not count, as the end of "runs that ...": "ran out of memory"; empty
// if it counts. A failure after the steps were timed is not a reason.
std::string not_counted(const record::Record& record);
inline bool counts_for_speed(const record::Record& record) { return not_counted(record).empty(); }

// The short name of a run. An id made by orch, such as
// "gpt-199b-megatron-384gpu-tp4-pp12-dp8-mb2-…-09bef858", is shortened to its layout; any other id
// is kept. The details of the run show the whole id.
struct RunName {
  std::string layout;  // "tp4 pp12 dp8 mb2"
  std::string hash;    // of an id made by orch, to distinguish runs with the same layout
};
RunName run_name(const record::Record& record);

}  // namespace orch::page
