#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record/record.h"

namespace orch::page {

using statistics::Interval;

// The numbers of a record that the page shows: what follows from others is filled in, and what is
// not finite or not positive is left out. Limits of what was measured hold with 95 % confidence,
// those of an estimate in 90 % of cases.
struct MeasuredAndEstimated {
  std::optional<Interval> measured, estimated;

  // Of the estimate, in percent; positive: it is too large. Nothing where one is missing.
  std::optional<double> error() const;
};

struct PageNumbers {
  MeasuredAndEstimated step;    // seconds
  MeasuredAndEstimated rate;    // tokens per second
  MeasuredAndEstimated days;    // per 100B tokens
  MeasuredAndEstimated memory;  // bytes on the fullest GPU
  std::optional<double> memory_limit;

  // Of the estimated time.
  std::optional<double> error() const;
  // What a run is ranked by: days per 100B tokens, measured or else estimated.
  const std::optional<Interval>& best_days() const {
    return days.measured ? days.measured : days.estimated;
  }
};

PageNumbers numbers_of(const record::Record& record);

// The names under which runs are compared.
std::string strategy_of(const record::Record& record);    // or framework
std::string model_of(const record::Record& record);       // its name, or its size; empty: not known
std::string size_class_of(const record::Record& record);  // its name, or about which size

// The settings in which the records differ, besides those that have a column of their own.
std::vector<std::string> differing_settings(const std::vector<const record::Record*>& records);
// "stage=3, recompute=full", of those settings.
std::string variant_of(const record::Record& record, const std::vector<std::string>& settings);

// Why the speed of a run does not count, after "runs that": "ran out of memory"; empty: it counts.
// How a run ended is no reason, once its steps were timed.
std::string not_counted(const record::Record& record);
inline bool counts_for_speed(const record::Record& record) { return not_counted(record).empty(); }

// What a run is called: an id of ours ("gpt-199b-megatron-384gpu-tp4-pp12-dp8-mb2-…-09bef858") by
// its layout, any other as it is. The id itself is in the details.
struct RunName {
  std::string layout;  // "tp4 pp12 dp8 mb2"
  std::string hash;    // of an id of ours; for where others have the same layout
};
RunName run_name(const record::Record& record);

}  // namespace orch::page
