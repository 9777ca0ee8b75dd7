#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/plan/cluster.h"

namespace orch::hardware {

// A cluster file's text with another `fitted` list in one of its partitions; everything else,
// comments included, stays as it is. The partitions must be written as a block list, one
// "- name: …" each.
Result<std::string> with_calibrations(const std::string& text, std::string_view partition,
                                      const std::vector<plan::Calibration>& calibrations,
                                      const std::string& file);

}  // namespace orch::hardware
