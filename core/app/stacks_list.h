#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/app/app.h"
#include "core/app/commands.h"

namespace orch::app {

// The software that estimates know: the rows of each, and what it reaches on the GPUs that they ran
// on.
Result<std::string> stacks_text(App& app, const Common& common);
Result<nlohmann::ordered_json> stacks_json(App& app);

}  // namespace orch::app
