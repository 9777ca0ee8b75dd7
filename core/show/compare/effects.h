#pragma once

#include <string_view>

#include "core/show/compare/compare.h"

namespace orch::compare {

// What a setting can change, by its name. One that nobody has thought of can change anything.
Effect effect_of(std::string_view field);

// The same of a circumstance: "date", "commit", "node names", "version of torch".
Effect circumstance_effect(std::string_view name);

}  // namespace orch::compare
