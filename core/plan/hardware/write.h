#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/plan/stack.h"

namespace orch::hardware {

// A cluster as the text of its file, every constant with its origin: what parse_cluster reads back,
// numbers to a hundredth of a percent. What is said to SLURM and what was fitted are not written.
std::string cluster_text(const plan::Cluster& cluster, const std::string& comment);

std::string quoted(const std::string& text);  // as YAML has it, on one line

// A partition's constants by their places in the file, those that somebody gave.
struct NamedConstant {
  std::string name;   // "efficiency.gemm"
  std::string value;  // "0.81", "45.2 GFLOPs"
  plan::Constant constant;
};
std::vector<NamedConstant> named_constants(const plan::Partition& partition);

// A cluster file's text with other `fitted` constants in one of its partitions; everything else,
// comments included, stays as it is. The partitions must be written as a block list, one
// "- name: …" each.
Result<std::string> with_calibration(const std::string& text, std::string_view partition,
                                     const plan::Calibration& calibration, const std::string& file);

// A file of stacks with other factors of one of them, and with the rows that they are from.
Result<std::string> with_factors(const std::string& text, const plan::Stack& stack,
                                 const std::string& file);

}  // namespace orch::hardware
