#pragma once

#include <string>

#include "core/base/json_fields.h"
#include "core/record/live_run.h"

namespace orch::store {

// state.json, and what a line of the index says of the same; problems are the fields'.
std::string state_json(const record::LiveRun& run);
void parse_state(Fields& fields, record::LiveRun& run);

}  // namespace orch::store
