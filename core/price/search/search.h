#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/price/backend/backend.h"
#include "core/price/search/ranking.h"
#include "core/price/search/space.h"

namespace orch::search {

struct Progress {
  double evaluated = 0;
  double total = 0;
  double seconds = 0;
  double best_days = 0;  // 0: nothing fits so far
};

struct Options {
  unsigned threads = 0;               // 0: as many as there are cores
  std::size_t top = 10;               // entries of each list
  double every = 0.2;                 // seconds between calls of progress
  std::function<bool()> interrupted;  // asked now and then, by the caller's thread
  std::function<void(const Progress&)> progress;
  // Asked of a configuration that would be kept, besides the experiment's own constraints; one
  // thread at a time.
  std::function<Result<bool>(const plan::Run&, const plan::Estimate&)> accept;
};

// Why configurations were rejected: how often by what, and one of them.
struct Reason {
  double count = 0;
  Place example;
};

// The best layouts about one question (core/plan/tie.h: a size, a sequence length, a machine), each
// at its best settings; and the front over all of its configurations.
struct Lists {
  bool keeps_budget = true;  // false: nothing does, and the lists hold what does not
  std::vector<Score> fastest, cheapest, front;
  std::vector<Score> roomiest;    // of the front, what takes at most twice as long as the best
  std::vector<Score> strategies;  // the fastest of each, within the budget where one is
};

// What a search found. The same for any number of threads, unless it was interrupted.
struct Found {
  double space = 0;      // configurations that arithmetic allows
  double evaluated = 0;  // checked, and priced where the check let them pass
  double rejected = 0;   // by a check
  double oom = 0;        // priced, and too large for the memory
  double fitting = 0;
  double within_budget = 0;  // of those that fit, before constraints
  double seconds = 0;
  bool complete = true;

  std::vector<Lists>
      questions;  // those about which something fits, as plan::questions_of orders them
  std::map<std::string, Reason> reasons;  // by field
  std::vector<Score> closest;  // the nearest to fitting (GPU and host), where nothing fits

  bool empty() const { return questions.empty(); }
  bool keeps_budget() const;              // about some question, or there is nothing to keep it
  std::vector<Score> strategies() const;  // the fastest of each, question by question
};

// How many configurations the space has; only the beginning is counted once interrupted says so.
double size_of(const Space& space, const std::function<bool()>& interrupted = {});

// Evaluates all of them. An error is something that no configuration is to blame for.
Result<Found> search(const Space& space, const backend::Backends& backends, const Options& options);

// The configuration at a place as a run, with its warnings; why it cannot work goes to reasons.
plan::Run run_at(const Space& space, const backend::Backends& backends, const Place& place,
                 std::vector<Error>& reasons);

// How many of the fastest layouts cannot be told from the first, by the rule of core/plan/tie.h.
std::size_t ties(const std::vector<Score>& fastest);

}  // namespace orch::search
