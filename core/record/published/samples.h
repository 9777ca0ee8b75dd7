#pragma once

#include <vector>

#include "core/record/published/machine.h"
#include "core/record/published/sample.h"
#include "core/plan/expand.h"

namespace orch::published {

// Rows as runs. Every row is in one of the four.
struct Samples {
  std::vector<Sample> samples;
  std::vector<Skipped> skipped;
  std::size_t suspect = 0;     // contradict themselves: left out
  std::size_t duplicates = 0;  // reprints of another row: left out
};

// Turns each row into a run on its cluster, or says why it is none. The checks are those of any
// plan, but for the rules of a site: a published run was run.
Samples to_samples(const std::vector<record::Record>& rows, const Machines& machines,
                   const std::vector<plan::StrategyPtr>& strategies,
                   const plan::CheckBackend& check_backend);

// Every row as a run, or why it is none: also those that contradict themselves, were printed before
// or say nothing that was measured.
std::vector<Result<Sample>> to_runs(const std::vector<record::Record>& rows,
                                    const Machines& machines,
                                    const std::vector<plan::StrategyPtr>& strategies,
                                    const plan::CheckBackend& check_backend);

// Which samples are judged together while the others are fitted: the table, where a source has
// three or more of them on a cluster with a step time; else its rows there in turn, in five folds.
// Never empty; samples of one fold have the same name.
std::vector<std::string> folds(const std::vector<Sample>& samples);

// The same with whole sources left out: their machines, and often their software, are then unknown.
std::vector<std::string> sources(const std::vector<Sample>& samples);

}  // namespace orch::published
