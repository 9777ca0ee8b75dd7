#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/plan/stack.h"

namespace orch::hardware {

// A cluster file's text with other `fitted` constants in one of its partitions; everything else,
// comments included, stays as it is. The partitions must be written as a block list, one
// "- name: …" each.
Result<std::string> with_calibration(const std::string& text, std::string_view partition,
                                     const plan::Calibration& calibration, const std::string& file);

// A file of stacks with other factors of one of them, and with the rows that they are from.
Result<std::string> with_factors(const std::string& text, const plan::Stack& stack,
                                 const std::string& file);

}  // namespace orch::hardware
