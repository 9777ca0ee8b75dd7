#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/plan/experiment.h"
#include "core/plan/planned.h"
#include "core/show/tables/status.h"

namespace orch::tables {

using Json = nlohmann::ordered_json;

inline Json or_null(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

// What JSON says of a run, wherever it stands.
Json run_fields(const plan::Planned& run);

// How the run stands to the budget, when it ends, and its schedule.
void add_limits(const plan::Planned& run, const plan::Experiment& experiment, Json& json);

// Its state and what was measured.
void add_status(const RunStatus& run, Json& json);

// The document as text, indented, with a line break at its end.
std::string dump(const Json& json);

}  // namespace orch::tables
