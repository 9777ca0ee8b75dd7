#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/expand.h"
#include "core/record/record.h"

namespace orch::published {

class PeerRows;  // flops.h

// The clusters on which rows may have run.
struct SampleMachines {
  plan::FindCluster find;
  std::vector<std::string> names;
  std::string otherwise;  // for rows with an unknown site; empty: these are skipped
};

// A GPU's name as in gpus.yaml: "A100 80GB", "a100_80g" and "NVIDIA A100-80GB" are the same.
std::string plain_gpu(std::string_view name);

// Where a row ran.
struct SampleMachine {
  std::shared_ptr<const plan::Cluster> cluster;
  const plan::Partition* partition = nullptr;  // in cluster
};

// The machine of a row, by its site and GPU. Guesses are added to assumed; an error explains why no
// machine fits.
Result<SampleMachine> machine_of(const record::Record& row, const SampleMachines& machines,
                                 std::vector<std::string>& assumed);

// A measured row as a run, with the measured values to predict.
struct PublishedSample {
  std::string id, source, table;
  std::string date;  // YYYY-MM-DD, as far as known: selects a machine's era
  plan::Run run;
  std::optional<double> step_seconds;
  std::optional<double> memory_bytes;
  plan::MemoryOf memory_of = plan::MemoryOf::fullest;
  bool oom = false;                   // the GPU ran out of memory
  bool host_oom = false;              // the host ran out of memory
  std::string status;                 // as in the row: ok, oom, hang or nothing
  std::vector<std::string> assumed;   // what the row omits, and the values assumed
  bool assumed_sizes = false;         // only the number of parameters is known: not used for fits
  std::vector<std::string> inferred;  // of these, settings set by habit: "offload optimizer"
};

// A row that cannot be converted, and the reason.
struct SkippedRow {
  std::string id, source, table;
  std::string reason;
};

// The result of converting rows: each row is in one of the four.
struct PublishedSamples {
  std::vector<PublishedSample> samples;
  std::vector<SkippedRow> skipped;
  std::size_t suspect = 0;     // number left out because they contradict themselves
  std::size_t duplicates = 0;  // number left out as copies of another row
};

// Converts each row to a run on its cluster, or gives the reason why not. The checks are those of
// any plan, except the rules of a site: a published run did run.
PublishedSamples to_samples(const std::vector<record::Record>& rows, const SampleMachines& machines,
                            const std::vector<plan::StrategyPtr>& strategies,
                            const plan::CheckBackend& check_backend);

// Converts one row, or gives the reason why not: also if it contradicts itself, is a copy or has no
// measured value. peers: the facts of its table.
Result<PublishedSample> to_run(const record::Record& row, const PeerRows& peers,
                               const SampleMachines& machines,
                               const std::vector<plan::StrategyPtr>& strategies,
                               const plan::CheckBackend& check_backend);

// The folds of a cross-validation: a table, if the source has three or more of them with step times
// on a cluster; else the source's rows there, distributed over five folds. Never empty; samples of
// one fold have the same name.
std::vector<std::string> folds(const std::vector<PublishedSample>& samples);

// Folds by source: the machines, and often the software, of the left-out source are then unknown.
std::vector<std::string> sources(const std::vector<PublishedSample>& samples);

}  // namespace orch::published
