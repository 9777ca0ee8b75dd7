#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/expand.h"
#include "core/record/record.h"

namespace orch::published {

class Peers;  // flops.h

// The clusters that rows may be of.
struct Machines {
  plan::FindCluster find;
  std::vector<std::string> names;
  std::string otherwise;  // for rows whose site is none of them; empty: they are skipped
};

// A GPU's name as gpus.yaml has it: "A100 80GB", "a100_80g" and "NVIDIA A100-80GB" are one.
std::string plain_gpu(std::string_view name);

// Where a row ran.
struct Machine {
  std::shared_ptr<const plan::Cluster> cluster;
  const plan::Partition* partition = nullptr;  // in cluster
};

// By the row's site and GPU. What had to be guessed is added to assumed; an error says why the row
// has no place.
Result<Machine> machine_of(const record::Record& row, const Machines& machines,
                           std::vector<std::string>& assumed);

// A measured row as a run: what to predict, and what it should be.
struct Sample {
  std::string id, source, table;
  std::string date;  // YYYY-MM-DD, as far as it is known: a machine has eras
  plan::Run run;
  std::optional<double> step_seconds;
  std::optional<double> memory_bytes;
  plan::MemoryOf memory_of = plan::MemoryOf::fullest;
  bool oom = false;                  // it ran out of memory
  bool host_oom = false;             // of the host's, with room left on the GPU
  std::string status;                // as the row has it: ok, oom, hang or nothing
  std::vector<std::string> assumed;  // what the row leaves open, and what was taken for it
  bool assumed_sizes = false;  // only the number of parameters is known: nothing is fitted to it
  std::vector<std::string> inferred;  // of it, settings that a habit gave: "offload optimizer"
};

// A row that is no run of ours, and why.
struct Skipped {
  std::string id, source, table;
  std::string reason;
};

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

// A row as a run, or why it is none: also one that contradicts itself, was printed before or says
// nothing that was measured. The peers are those of its table.
Result<Sample> to_run(const record::Record& row, const Peers& peers, const Machines& machines,
                      const std::vector<plan::StrategyPtr>& strategies,
                      const plan::CheckBackend& check_backend);

// Which samples are judged together while the others are fitted: the table, where a source has
// three or more of them on a cluster with a step time; else its rows there in turn, in five folds.
// Never empty; samples of one fold have the same name.
std::vector<std::string> folds(const std::vector<Sample>& samples);

// The same with whole sources left out: their machines, and often their software, are then unknown.
std::vector<std::string> sources(const std::vector<Sample>& samples);

}  // namespace orch::published
