#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/price/measure/partition.h"

namespace orch::measure {

// What a rank reached while all ranks of the job did the same.
struct RankRates {
  std::size_t rank = 0, node = 0;
  double product_flops = 0;     // FLOP/s
  double memory_bandwidth = 0;  // bytes/s
};

// Seconds of all-reduces within a node (a and b are the same), or between two by groups of one rank
// of either, all at once.
struct NodeLink {
  std::size_t a = 0, b = 0;
  std::int64_t ranks = 0;  // of the node; between two: groups
  std::vector<double> seconds;
};

// The output of orch-measure for the nodes of a job.
struct NodesMeasurement {
  std::string device, name, torch;
  std::vector<std::string> nodes;
  std::vector<RankRates> ranks;
  std::vector<double> bytes;  // of the all-reduces
  std::vector<NodeLink> within, between;
};

// An impossible number or an unknown node is an error.
Result<NodesMeasurement> parse_nodes(const std::string& text, const std::string& place);

// Bytes/s of a ring's largest all-reduce; between nodes, of all groups of a node together.
double link_bandwidth(const NodesMeasurement& measured, const NodeLink& link);

// A rank, a node or a pair of nodes that is slower than its like.
struct SlowPart {
  std::size_t node = 0;
  std::string where;  // "rank 3", "its ranks among each other", "with all others", "with a100-2"
  std::string what;   // "products", "memory", "all-reduce"
  double share = 0;   // of the median of its like; for a whole node, of the best one
};
// one_network: false if fast links join some of the nodes, so that pairs cannot be compared.
std::vector<SlowPart> slow_parts(const NodesMeasurement& measured, bool one_network = true);

// Latency and bandwidth by the median of all nodes, or pairs; 0: not measured. Between nodes the
// bandwidth is of a node.
struct NodeRings {
  RingFit within, between;
};
NodeRings fit_rings(const NodesMeasurement& measured);

// The partition with its links as measured, so that its prices are the measured seconds. Links that
// were not measured stay, and so does the network where fast links join several nodes.
plan::Partition measured_links(const NodesMeasurement& measured, plan::Partition base,
                               const std::string& origin);

}  // namespace orch::measure
