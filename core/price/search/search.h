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

struct SearchProgress {
  double evaluated = 0;
  double total = 0;
  double seconds = 0;
  double best_days = 0;  // 0: nothing fits so far
};

struct SearchOptions {
  unsigned threads = 0;               // 0: one per core
  std::size_t top = 10;               // entries of each list
  double every = 0.2;                 // seconds between calls of progress
  std::function<bool()> interrupted;  // checked regularly, by the caller's thread
  std::function<void(const SearchProgress&)> progress;
  // An additional condition besides the experiment's constraints, asked for configurations that
  // would be kept; one thread at a time.
  std::function<Result<bool>(const plan::Run&, const plan::Estimate&)> accept;
};

// Why configurations were rejected: a count per reason, and an example.
struct MissReason {
  double count = 0;
  SpacePlace example;
};

// The best layouts for one question (core/plan/tie.h: a size, a sequence length, a machine), each
// with its best settings; and the front over all of its configurations.
struct ResultLists {
  bool keeps_budget = true;  // false: no configuration does, and the lists contain ones over it
  std::vector<RunScore> fastest, cheapest, front;
  std::vector<RunScore> roomiest;    // part of the front, at most twice the best time
  std::vector<RunScore> strategies;  // the fastest of each strategy, within the budget if possible
};

// The result of a search. The same for any number of threads, unless it was interrupted.
struct SearchResult {
  double space = 0;      // number of arithmetically possible configurations
  double evaluated = 0;  // checked, and estimated if the check passed
  double rejected = 0;   // by a check
  double oom = 0;        // estimated, and too large for the memory
  double fitting = 0;
  double within_budget = 0;  // part of fitting, before constraints
  double seconds = 0;
  bool complete = true;

  std::vector<ResultLists>
      questions;  // those with a configuration that fits, in the order of plan::questions_of
  std::map<std::string, MissReason> reasons;  // by field
  std::vector<RunScore> closest;  // the nearest to fitting (GPU and host), if nothing fits

  bool empty() const { return questions.empty(); }
  bool keeps_budget() const;                 // for at least one question, or there is none
  std::vector<RunScore> strategies() const;  // the fastest of each strategy, question by question
};

// The number of configurations of the space; once interrupted() is true, only those counted so far.
double size_of(const SearchSpace& space, const std::function<bool()>& interrupted = {});

// Evaluates all of them. An error is a problem that is not caused by a single configuration.
Result<SearchResult> search(const SearchSpace& space, const backend::Backends& backends,
                            const SearchOptions& options);

// The configuration at a place as a run, with its warnings; its problems go to reasons.
plan::Run run_at(const SearchSpace& space, const backend::Backends& backends,
                 const SpacePlace& place, std::vector<Error>& reasons);

// How many of the fastest layouts are within the error of the first one's estimate, by the rule of
// core/plan/tie.h.
std::size_t ties(const std::vector<RunScore>& fastest);

}  // namespace orch::search
