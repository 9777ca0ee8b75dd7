#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plan/estimate.h"
#include "core/plan/run.h"

namespace orch::estimate {

inline constexpr double kNineOfTen = 1.645;  // of normal values lie within so many deviations

// Standard deviations of log(measured / predicted).
struct Spread {
  double time = 0;
  double memory = 0;
};

// How far from the estimate a measurement may lie: what was left over where rows were fitted, wider
// with the distance from them in GPUs, parameters, micro-batches and their tokens, and, on a
// machine without rows, with the share of the step that is launches and other fixed costs.
Spread spread_of(const plan::Run& run, const plan::Partition& at, double fixed_share = 0);

// Fills the 90 % ranges of step time and memory around their estimates.
void add_ranges(const plan::Run& run, const plan::Partition& at, plan::Estimate& out);

// What a reader of an estimate wants to know that no row had: "dtype", "bf16". A model has experts,
// "some" or "none"; what the strategy does not have is not in it.
struct TellingSetting {
  std::string_view name;
  std::string word;

  std::string text() const { return std::string(name) + (name == "experts" ? "" : " = " + word); }
  bool operator==(const TellingSetting&) const = default;
};
std::vector<TellingSetting> telling_settings(const plan::Run& run);

// What no row had of a run's settings. Most runs of a plan have the same settings as the run
// before: it is found anew where they change.
struct UnseenSettings {
  const plan::Partition* at = nullptr;
  std::vector<TellingSetting> settings;
  std::vector<std::string> remarks;
  std::vector<double> doubts;  // that each adds to the spread of the time
};

// Says which software the estimate is of and how far it is from any row; settings that no row had
// widen the range of the time.
void add_remarks(const plan::Run& run, const plan::Partition& at, UnseenSettings& unseen,
                 plan::Estimate& out);

}  // namespace orch::estimate
