#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/record/record.h"
#include "core/plan/resolve.h"

namespace orch::published {

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

}  // namespace orch::published
