#include "core/plan/cluster.h"

namespace orch::plan {

const Constant& Gpu::peak(std::string_view dtype) const {
  static const Constant kNone;
  const auto found = peaks.find(dtype);
  return found == peaks.end() ? kNone : found->second;
}

double Calibration::era(std::string_view day) const {
  if (day.empty()) return 1;
  for (const auto& era : eras)
    if (day < era.until) return era.time.value;
  return 1;
}

const Partition* Cluster::find(std::string_view partition) const {
  for (const auto& candidate : partitions)
    if (candidate.name == partition) return &candidate;
  return nullptr;
}

}  // namespace orch::plan
