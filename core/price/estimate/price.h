#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/plan/cluster.h"
#include "include/orch/backend.h"

namespace orch::estimate {

// The time of one operation on a partition. It knows hardware, not backends.
class Price {
 public:
  // gpus: number that the run uses; dtype: of its matrix products.
  Price(const plan::Partition& partition, std::int64_t gpus, std::string_view dtype);

  // Seconds of one occurrence of the operation.
  double seconds(const orch_op& op) const;

  // Seconds that the host needs to launch one layer's pass, or its experts'.
  double launches(const orch_op& op) const {
    if (op.kernel >= ORCH_IN_GRAPH) return 0;
    const auto& efficiency = partition_.efficiency;
    return crowd_ *
           (op.kernel == ORCH_OF_EXPERTS ? efficiency.expert_floor : efficiency.host_floor).value;
  }

  // The same as text: "at 187 TFLOPs", "at 1.6 TB/s", "2 rings share 12 GB/s".
  std::string rate(const orch_op& op) const;

 private:
  double overhead_seconds(const orch_op& op) const;

  // The placement of a group's ranks on the nodes, and the bandwidth of its ring.
  struct Ring {
    bool crosses = false;  // leaves the node
    double bandwidth = 0;  // bytes/s of the slowest hop
    double sharing = 1;    // rings that share a node's network
    double latency = 0;    // of its slowest hop
    double inside = 1;     // ranks of the group on a node
  };
  Ring ring(const orch_op& op) const;
  std::int64_t ranks_on_node() const;
  double latency(const orch_op& op, const Ring& path) const;
  double collective_seconds(const orch_op& op) const;
  double flops_rate(const orch_op& op) const;
  double matrix_seconds(const orch_op& op) const;
  double whole_tiles(double columns) const;
  double memory_rate(const orch_op& op) const;
  double host_bandwidth() const;

  const plan::Partition& partition_;
  std::int64_t gpus_;
  double peak_;
  double wide_peak_;  // for operations without narrow formats: attention, LM head, router
  double narrow_;     // bytes of a product's operand
  double crowd_;      // where ranks share cores: slowdown relative to the measurement
};

// How many times as much of a node's network several rings reach together as one alone.
double raised_by_rings(double sharing);

// The share of the buffer that passes each rank's link: 2(n-1)/n for an all-reduce, and so on.
double wire_factor(std::uint32_t collective, std::int64_t group_size);

}  // namespace orch::estimate
