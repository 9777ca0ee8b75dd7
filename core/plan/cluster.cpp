#include "core/plan/cluster.h"

#include <algorithm>

namespace orch::plan {

const Constant& Gpu::peak(std::string_view dtype) const {
  if (dtype == "fp16") return peak_fp16;
  if (dtype == "bf16") return peak_bf16;
  if (dtype == "tf32") return peak_tf32;
  return peak_fp32;
}

double Calibration::era(std::string_view day) const {
  if (day.empty()) return 1;
  for (const auto& era : eras)
    if (day < era.until) return era.time.value;
  return 1;
}

const Calibration* Partition::calibration(std::string_view backend) const {
  for (const auto& candidate : calibrations)
    if (std::find(candidate.backends.begin(), candidate.backends.end(), backend) !=
        candidate.backends.end())
      return &candidate;
  return nullptr;
}

const Partition& Partition::as_measured(std::string_view backend) const {
  const auto* found = calibration(backend);
  return found ? *found->partition : *this;
}

const Partition* Cluster::find(std::string_view partition) const {
  for (const auto& candidate : partitions)
    if (candidate.name == partition) return &candidate;
  return nullptr;
}

}  // namespace orch::plan
