#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "core/base/result.h"
#include "core/run/launch/slurm/slurm_facts.h"

namespace orch::launch {

// What a job asks of a cluster, in the words of its #SBATCH lines. Empty or 0: not asked.
struct Ask {
  std::string place;      // for messages: the cluster file, and its name of the partition
  std::string partition;  // empty: the default one
  std::string time;       // "20:00:00"
  std::int64_t nodes = 1;
  std::string gres;        // "gpu:8", "gpu:a100:8"
  std::string constraint;  // "a100&nvme"
  std::string account;
  std::string qos;
  auto operator<=>(const Ask&) const = default;
};

// Every contradiction between what is asked and what a cluster has, each once. SLURM
// itself takes many such jobs and lets them wait for ever.
Status preflight(const ClusterFacts& facts, const std::set<Ask>& asks);

}  // namespace orch::launch
