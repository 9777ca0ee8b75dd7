#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace orch {

// The settings of a configuration file by their paths, in the order of the file: a setting
// "zero_optimization.stage" with the value "3". Of a list only the items count, joined by commas.
using FlatSettings = std::vector<std::pair<std::string, std::string>>;

// JSON, TOML or YAML, by the name of the file or, without an ending that tells, by its content. Of
// TOML and YAML what configurations of trainings are made of: sections, plain values and flat
// lists; other lines are skipped. Values are not quoted.
Result<FlatSettings> flat_settings(const std::string& file, std::string_view text);

}  // namespace orch
