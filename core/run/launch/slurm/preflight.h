#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "core/base/result.h"
#include "core/run/launch/slurm/slurm_facts.h"

namespace orch::launch {

// A job's request to a cluster, as in its #SBATCH lines. Empty or 0: not requested.
struct JobRequest {
  std::string place;      // for messages: the cluster file, and the partition's name in it
  std::string partition;  // empty: the default partition
  std::string time;       // "20:00:00"
  std::int64_t nodes = 1;
  std::string gres;        // "gpu:8", "gpu:a100:8"
  std::string constraint;  // "a100&nvme"
  std::string account;
  std::string qos;
  auto operator<=>(const JobRequest&) const = default;
};

// Reports every contradiction between requests and the cluster, each once. SLURM itself accepts
// many such jobs and lets them wait forever.
Status preflight(const ClusterFacts& facts, const std::set<JobRequest>& asks);

}  // namespace orch::launch
