#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace orch::launch {

// Facts about a cluster that can make a job impossible.
struct PartitionFacts {
  std::string name;
  bool is_default = false;
  std::string state;                                                  // UP, DOWN, DRAIN or INACTIVE
  double max_seconds = std::numeric_limits<double>::infinity();       // limit of a job's time
  std::int64_t nodes = 0;                                             // number of nodes
  std::int64_t max_nodes = std::numeric_limits<std::int64_t>::max();  // limit per job
  std::vector<std::string> accounts;                                  // allowed; empty: all
  std::vector<std::string> qos;                                       // allowed; empty: all
};

// Identical nodes of a partition.
struct NodeGroup {
  std::string partition;
  std::int64_t nodes = 0;
  std::string gres;  // "gpu:a100:8(S:0-1)"
  std::vector<std::string> features;
  std::string state;  // idle, mixed, down*, drained, ...
};

struct ClusterFacts {
  std::string name;
  std::string version;
  std::int64_t max_array_size = 1001;  // tasks of one array, counted from 0
  std::vector<PartitionFacts> partitions;
  std::vector<NodeGroup> nodes;
};

// Pure parsers: scontrol show config, scontrol show partition --oneliner --all, and sinfo with
// kNodeFields.
extern const std::string_view kNodeFields;
void parse_config(std::string_view text, ClusterFacts& into);
std::vector<PartitionFacts> parse_partitions(std::string_view text);
std::vector<NodeGroup> parse_nodes(std::string_view text);

}  // namespace orch::launch
