#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/app/search_parts.h"

namespace orch::app {

// The best run of a strategy at one size.
struct BestTrial {
  plan::Planned planned;
  plan::AskedStrategy asked;
};

// A search of several sizes, from its experiment to its output.
struct TrialSizes {
  App& app;
  const SearchArguments& arguments;
  Console& console;
  bool gpus = false;                // true: searches numbers of GPUs; false: model sizes
  search::OpenFields opening = {};  // for each of the searches
  search::SearchOptions options = {};
  plan::Experiment experiment = {};
  std::deque<BestTrial> found = {};
  std::vector<RunList> lists = {};  // each answer with its runner-up, and the best of each size
  double evaluated = 0;
  int tried = 0;
  std::string sizes = {};  // range of sizes: "between 1 and 416, of jean-zay/a100-80g"
  std::string why = {};    // why the last size without a run has none
  bool complete = true;

  const plan::Planned& best() const { return *lists.front().runs.front(); }
};

// An intermediate answer: the number of GPUs, and whether it is the smallest one.
struct GpuCountAnswer {
  std::int64_t gpus = 0;
  bool is_fewest = false;
};

// Tries numbers of GPUs up to the whole partition, then those next to the answers.
Status try_gpus(TrialSizes& s, const std::function<std::vector<GpuCountAnswer>()>& answered);

// Tries the experiment's model, larger ones until memory is exhausted, and smaller ones if it does
// not fit or breaks the budget.
Status try_models(TrialSizes& s);

}  // namespace orch::app
