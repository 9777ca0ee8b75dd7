#include "core/plan/cluster.h"

namespace orch::plan {

const Constant& Gpu::peak(std::string_view dtype) const {
  if (dtype == "fp16") return peak_fp16;
  if (dtype == "bf16") return peak_bf16;
  return peak_fp32;
}

const Partition* Cluster::find(std::string_view partition) const {
  for (const auto& candidate : partitions)
    if (candidate.name == partition) return &candidate;
  return nullptr;
}

}  // namespace orch::plan
