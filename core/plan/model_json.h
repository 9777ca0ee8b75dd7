#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/result.h"
#include "core/plan/model.h"
#include "core/plan/value.h"

namespace orch::plan {

// {"family": "llama", "layers": 32, ...}: a model without its name, as run documents and
// checkpoints have it. Sizes that the family fixes are not written; of those that are missing it is
// the usual one.
std::string model_json(const Model& model);
Result<Model> parse_model(const std::string& text, const std::string& place);

// Every problem with its place. Fields that are no size are not looked at.
Result<Model> read_model(const nlohmann::json& json, const std::string& place);

// A value as JSON has it; one that is not given is null.
Value from_json(const nlohmann::json& json);
nlohmann::ordered_json json_of(const Value& value);

}  // namespace orch::plan
