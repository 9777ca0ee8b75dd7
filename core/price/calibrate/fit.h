#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/plan/cluster.h"
#include "core/plan/estimate.h"
#include "core/plan/run.h"
#include "core/plan/stack.h"
#include "core/price/backend/work.h"

namespace orch::calibrate {

// A run that was measured, and the work that its backend describes: no constant changes it.
struct Observation {
  plan::Run run;
  backend::Work work;
  std::string source;                 // whose rows, for origins
  std::string table;                  // of that source
  std::vector<std::string> inferred;  // settings that were guessed for it
  std::string day;                    // YYYY-MM-DD or less; empty: not known
  double step_seconds = 0;            // 0: not measured
  double memory = 0;                  // bytes; 0: not measured
  plan::MemoryOf memory_of = plan::MemoryOf::fullest;
  std::size_t machine = 0;  // of the machines that are fitted
  int stack = -1;           // of the stacks; -1: none
};

// Partitions that are fitted as one: they differ in memory at most. Eras: the days that are known.
struct Machine {
  std::vector<const plan::Partition*> partitions;
  std::vector<plan::Era> eras;
  bool held = false;  // its constants are as they are, and rows speak of their stacks alone
};

// From where a fit starts: from datasheets and factors of 1, or from what was fitted before.
enum class Start { datasheet, present };

// What the rows say of each machine and of each stack, in the order in which they were given.
// Constants that no row depends on are not in it.
struct Fitted {
  std::vector<plan::Calibration> machines;
  std::vector<plan::Stack> stacks;
};

// How to fit.
struct Options {
  Start start = Start::datasheet;
  // Whether the factors of stacks are fitted too. Else they are what they are, and the machines are
  // all that rows can correct, with the doubts of both.
  bool stacks = true;
  const Fitted* near = nullptr;  // a fit to nearly the same rows: from there it is not far
};

// Fits all constants at once: those of each machine, whatever software ran there, and the factors
// of each stack, wherever it ran. An observation may be left out by a null.
Fitted fit(const std::vector<Machine>& machines, const std::vector<plan::StackPtr>& stacks,
           std::span<const Observation* const> observations, Options options = {});

// A stack with nothing but what is assumed of it: no row decided that.
plan::Stack as_assumed(const plan::Stack& stack);

// "92 rows of bloom-prequel", and what they were read with that nobody said: constants that stand
// on a guess are good for runs that share it.
std::string rows_text(std::span<const Observation* const> observations);

}  // namespace orch::calibrate
