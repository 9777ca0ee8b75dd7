#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/cli/app.h"
#include "core/estimate/without.h"
#include "core/fit/fit.h"
#include "core/measured/sample.h"
#include "core/measured/score.h"

namespace orch::cli {

// Samples whose constants are fitted together: partitions that differ in memory at most, and the
// backends whose runs behave alike there.
struct Group {
  const plan::Cluster* cluster = nullptr;
  std::vector<const plan::Partition*> partitions;
  std::vector<std::string> backends;
  const plan::Calibration* present = nullptr;  // in the first partition; may be none
  std::vector<plan::Era> eras;                 // whose days are known
  std::vector<std::size_t> members;            // in samples
};

// An estimate as the prediction of a measurement, at a time when the machine took so much longer.
measured::Prediction prediction_of(const plan::Estimate& estimate, const measured::Sample& sample,
                                   double era);

std::vector<Group> groups_of(const std::vector<measured::Sample>& samples);

// What some of the samples' works are made of, by name.
Result<std::set<std::string>> ingredients(const App& app,
                                          const std::vector<measured::Sample>& samples);

// What fitting needs to know of the samples, in their order, less what is left out.
Result<std::vector<fit::Observation>> observe(const App& app,
                                              const std::vector<measured::Sample>& samples,
                                              const estimate::Without& without = {});

// "92 rows of bloom-prequel"
std::string rows_text(const std::vector<measured::Sample>& samples,
                      const std::vector<std::size_t>& members);

// From where a fit starts: from datasheets and assumptions, or from what was fitted before.
enum class Start { datasheet, present };

// Fits a group to those of its members for which `use` is true. From the present calibration, what
// the rows say nothing about stays, and so do its eras.
plan::Calibration fit_group(const Group& group, const std::vector<measured::Sample>& samples,
                            const std::vector<fit::Observation>& observations, Start start,
                            const std::function<bool(std::size_t)>& use);

// Predicts every sample by constants that were fitted without its fold, and without the rows that
// are apart.
Result<std::vector<measured::Judged>> judge_left_out(const App& app,
                                                     const std::vector<measured::Sample>& samples,
                                                     const std::vector<std::string>& folds,
                                                     const std::set<std::string>& apart,
                                                     const estimate::Without& without);

// Predicts every sample by its cluster as shipped, or without what was fitted.
Result<std::vector<measured::Judged>> judge_as_is(const App& app,
                                                  const std::vector<measured::Sample>& samples,
                                                  bool with_fitted,
                                                  const estimate::Without& without);

}  // namespace orch::cli
