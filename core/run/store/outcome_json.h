#pragma once

#include <string>

#include "core/base/json_fields.h"
#include "core/record/outcome.h"

namespace orch::store {

// state.json, and what a line of the index says of the same; problems are the fields'.
std::string outcome_json(const record::Outcome& outcome);
record::Outcome parse_outcome(Fields& fields);

}  // namespace orch::store
