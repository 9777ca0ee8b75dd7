#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plan/estimate.h"
#include "core/plan/run.h"

namespace orch::estimate {

inline constexpr double kNineOfTen = 1.645;  // of normal values within this many deviations

// Standard deviations of log(measured / predicted).
struct Spread {
  double time = 0;
  double memory = 0;
};

// The distance at which a measurement may lie from the estimate: the residuals of the fitted rows,
// widened with the distance from them in GPUs, parameters, micro-batches and their tokens, and, on
// a machine without rows, with the share of launches and other fixed costs in the step.
Spread spread_of(const plan::Run& run, const plan::Partition& at, double fixed_share = 0);

// Sets the 90 % ranges of step time and memory around their estimates.
void add_ranges(const plan::Run& run, const plan::Partition& at, plan::Estimate& out);

// A property of a run that readers of an estimate want to know if no row had it: "dtype", "bf16".
// For experts the value is "some" or "none"; settings that the strategy does not have are left out.
struct TellingSetting {
  std::string_view name;
  std::string word;

  std::string text() const { return std::string(name) + (name == "experts" ? "" : " = " + word); }
  bool operator==(const TellingSetting&) const = default;
};
std::vector<TellingSetting> telling_settings(const plan::Run& run);

// The settings of a run that no row had. Most runs of a plan have the same settings as the run
// before: recomputed only on changes.
struct UnseenSettings {
  const plan::Partition* at = nullptr;
  std::vector<TellingSetting> settings;
  std::vector<std::string> remarks;
  std::vector<double> doubts;  // what each adds to the spread of the time
};

// Adds remarks on the software of the estimate and on its distance from measured rows; settings
// that no row had widen the range of the time.
void add_remarks(const plan::Run& run, const plan::Partition& at, UnseenSettings& unseen,
                 plan::Estimate& out);

}  // namespace orch::estimate
