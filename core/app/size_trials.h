#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/app/search_parts.h"

namespace orch::app {

// The best of a strategy at one size.
struct Best {
  plan::Planned planned;
  plan::AskedStrategy asked;
};

// A search of several sizes, from its experiment to what is printed.
struct Sizes {
  App& app;
  const SearchArguments& arguments;
  Console& console;
  bool gpus = false;             // the number of them is open; else the size of the model
  search::Opening opening = {};  // of each search
  search::Options options = {};
  plan::Experiment experiment = {};
  std::deque<Best> found = {};
  std::vector<RunList> lists = {};  // an answer with its runner-up each, and the best of each size
  double evaluated = 0;
  int tried = 0;
  std::string sizes = {};  // which: "between 1 and 416, of jean-zay/a100-80g"
  std::string why = {};    // why the last size without a run has none
  bool complete = true;

  const plan::Planned& best() const { return *lists.front().runs.front(); }
};

// An answer so far: the number of GPUs, and whether the fewest were asked for.
struct Answered {
  std::int64_t gpus = 0;
  bool is_fewest = false;
};

// Numbers of GPUs up to all of the partition, then those beside what was answered.
Status try_gpus(Sizes& s, const std::function<std::vector<Answered>()>& answered);

// The experiment's model, larger ones until memory ends it, and smaller ones where it does not fit
// or breaks the budget.
Status try_models(Sizes& s);

}  // namespace orch::app
