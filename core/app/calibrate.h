#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/price/calibrate/fit.h"
#include "core/price/estimate/without.h"
#include "core/record/published/samples.h"
#include "core/record/published/score.h"

namespace orch::app {

// Measured samples as a fit needs them: the machines they ran on, the software they ran.
struct Study {
  std::vector<calibrate::Machine> machines;
  std::vector<const plan::Cluster*> clusters;        // of each machine
  std::vector<plan::StackPtr> stacks;                // those that some sample has
  std::vector<calibrate::Observation> observations;  // in the order of the samples

  // Where a sample is priced by what was fitted.
  plan::Partition place(const calibrate::Fitted& fitted, std::size_t sample) const;
  // For each sample, which others can say something about it: those of its machine or stack, and of
  // theirs. Samples of one number do.
  std::vector<std::size_t> circles() const;
  // Fits those samples for which `use` is true.
  calibrate::Fitted fit(calibrate::Options options,
                        const std::function<bool(std::size_t)>& use) const;
};

// What some of the samples' works are made of, by name.
Result<std::set<std::string>> ingredients(const App& app,
                                          const std::vector<published::Sample>& samples);

// What fitting needs to know of the samples, less what is left out.
Result<Study> study(const App& app, const std::vector<published::Sample>& samples,
                    const estimate::Without& without = {});

// Predicts every sample by constants that were fitted without its fold, and without the rows that
// are apart.
Result<std::vector<published::Judged>> judge_left_out(const App& app,
                                                      const std::vector<published::Sample>& samples,
                                                      const std::vector<std::string>& folds,
                                                      const std::set<std::string>& apart,
                                                      const estimate::Without& without);

// Predicts every sample by its cluster and its stack as shipped, or without what was fitted.
Result<std::vector<published::Judged>> judge_as_is(const App& app,
                                                   const std::vector<published::Sample>& samples,
                                                   bool with_fitted,
                                                   const estimate::Without& without);

}  // namespace orch::app
