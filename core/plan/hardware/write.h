#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/plan/stack.h"

namespace orch::hardware {

// A cluster as the text of its file, every constant with its origin: parse_cluster reads it back,
// numbers precise to a hundredth of a percent. SLURM options and fitted constants are not written.
std::string cluster_text(const plan::Cluster& cluster, const std::string& comment);

std::string quoted(const std::string& text);  // quoted for YAML, on one line

// A partition's constant by its path in the file; only those that were given.
struct NamedConstant {
  std::string name;   // "efficiency.gemm"
  std::string value;  // "0.81", "45.2 GFLOPs"
  plan::Constant constant;
};
std::vector<NamedConstant> named_constants(const plan::Partition& partition);

// The text of a cluster file in which the `fitted` constants of one partition are replaced;
// everything else, comments included, is unchanged. The partitions must be written as a block list,
// one "- name: …" each.
Result<std::string> with_calibration(const std::string& text, std::string_view partition,
                                     const plan::Calibration& calibration, const std::string& file);

// The same with the links of that partition: intra_node and network.
Result<std::string> with_links(const std::string& text, const plan::Partition& partition,
                               const std::string& file);

// The text of a cluster file in which these constants of `operation` (each by its key alone) are
// replaced or added, and the keys in `without` removed; everything else is unchanged. partition: in
// its own `operation`; empty: in that of the cluster. `operation` must be written as a block.
Result<std::string> with_operation(const std::string& text, std::string_view partition,
                                   const std::vector<NamedConstant>& constants,
                                   const std::vector<std::string>& without,
                                   const std::string& file);

// The text of a file of stacks in which the factors of one stack, and the rows behind them, are
// replaced.
Result<std::string> with_factors(const std::string& text, const plan::Stack& stack,
                                 const std::string& file);

}  // namespace orch::hardware
