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

double Partition::failures_per_gpu_hour() const {
  const auto& days = operation.node_days_between_failures;
  if (days.origin.empty()) return operation.failures.value;
  return 1 / (days.value * 24 * static_cast<double>(gpus_per_node));
}

double Partition::price_per_gpu_hour() const {
  if (operation.node_price.origin.empty()) return operation.price.value;
  return operation.node_price.value / static_cast<double>(gpus_per_node);
}

double Partition::busy_watts() const {
  return operation.watts.origin.empty() ? gpu.watts.value : operation.watts.value;
}

// The share of a board that waits is assumed.
double Partition::idle_watts() const {
  constexpr double kIdleShare = 0.2;
  return operation.idle_watts.origin.empty() ? kIdleShare * busy_watts()
                                             : operation.idle_watts.value;
}

const Partition* Cluster::find(std::string_view partition) const {
  for (const auto& candidate : partitions)
    if (candidate.name == partition) return &candidate;
  return nullptr;
}

}  // namespace orch::plan
