#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/result.h"
#include "core/plan/model.h"
#include "core/plan/value.h"

namespace orch::plan {

// {"family": "llama", "layers": 32, ...}: a model without its name, as stored in run documents and
// checkpoints. Sizes that the family fixes are not written; missing sizes get their usual values.
std::string model_json(const Model& model);
Result<Model> parse_model(const std::string& text, const std::string& place);

// Reports every problem with its place. Fields that are not sizes are ignored.
Result<Model> read_model(const nlohmann::json& json, const std::string& place);

// Converts a JSON value; null becomes "not given".
Value from_json(const nlohmann::json& json);
nlohmann::ordered_json json_of(const Value& value);

}  // namespace orch::plan
