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

// Measured samples prepared for a fit: the machines and the software that they ran on.
struct FitInput {
  std::vector<calibrate::FittedMachine> machines;
  std::vector<const plan::Cluster*> clusters;        // one per machine
  std::vector<plan::StackPtr> stacks;                // those that occur in a sample
  std::vector<calibrate::Observation> observations;  // in the order of the samples

  // The partition with fitted constants for a sample's estimate.
  plan::Partition place(const calibrate::FitResult& fitted, std::size_t sample) const;
  // Assigns samples to groups that can affect each other's fit: those that share, directly or
  // through others, a machine or a stack. Samples of one group have the same number.
  std::vector<std::size_t> circles() const;
  // Fits only the samples for which `use` is true.
  calibrate::FitResult fit(calibrate::FitOptions options,
                           const std::function<bool(std::size_t)>& use) const;
};

// The names of all parts in the samples' works.
Result<std::set<std::string>> ingredients(const App& app,
                                          const std::vector<published::PublishedSample>& samples);

// Prepares samples for a fit, without the parts to leave out.
Result<FitInput> study(const App& app, const std::vector<published::PublishedSample>& samples,
                       const estimate::LeftOutTerms& without = {});

// Predicts every sample with constants that were fitted without its fold, and without the rows in
// `apart`.
Result<std::vector<published::JudgedSample>> judge_left_out(
    const App& app, const std::vector<published::PublishedSample>& samples,
    const std::vector<std::string>& folds, const std::set<std::string>& apart,
    const estimate::LeftOutTerms& without);

// Predicts every sample with the shipped constants of its cluster and stack, or without any fitted
// ones.
Result<std::vector<published::JudgedSample>> judge_as_is(
    const App& app, const std::vector<published::PublishedSample>& samples, bool with_fitted,
    const estimate::LeftOutTerms& without);

}  // namespace orch::app
