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

// A measured run, and the work that its backend describes, which no constant changes.
struct Observation {
  plan::Run run;
  backend::Work work;
  std::string source;                 // where the rows are from, for origins
  std::string table;                  // a table of that source
  std::vector<std::string> inferred;  // settings that were guessed for the run
  std::string day;                    // YYYY-MM-DD or a part of it; empty: unknown
  double step_seconds = 0;            // 0: not measured
  double memory = 0;                  // bytes; 0: not measured
  plan::MemoryOf memory_of = plan::MemoryOf::fullest;
  std::size_t machine = 0;  // index of a fitted machine
  int stack = -1;           // index of a stack; -1: none
};

// Partitions that are fitted as one: they differ in memory at most. eras: the known days.
struct FittedMachine {
  std::vector<const plan::Partition*> partitions;
  std::vector<plan::SoftwareEra> eras;
  bool held = false;  // its constants are fixed, and its rows determine stacks alone
};

// Where a fit starts: from datasheets and factors of 1, or from the constants fitted before.
enum class FitStart { datasheet, present };

// The results for each machine and each stack, in the order in which they were given. Constants
// that no row depends on are left out.
struct FitResult {
  std::vector<plan::Calibration> machines;
  std::vector<plan::Stack> stacks;
};

// Options of a fit.
struct FitOptions {
  FitStart start = FitStart::datasheet;
  // If false, the factors of stacks stay fixed, and rows correct the machines alone, with the
  // doubts of both.
  bool stacks = true;
  const FitResult* near = nullptr;  // a fit to nearly the same rows, used as starting point
};

// Fits all constants at once: those of each machine, whatever software ran there, and the factors
// of each stack, wherever it ran. Null observations are left out, and so are the times of mixtures
// of experts on machines that have those of dense models.
FitResult fit(const std::vector<FittedMachine>& machines, const std::vector<plan::StackPtr>& stacks,
              std::span<const Observation* const> observations, FitOptions options = {});

// A stack with only its assumed values, without anything fitted to rows.
plan::Stack as_assumed(const plan::Stack& stack);

// "92 rows of bloom-prequel", with the settings that were guessed for them: constants based on a
// guess are valid for runs with the same setting.
std::string rows_text(std::span<const Observation* const> observations);

}  // namespace orch::calibrate
