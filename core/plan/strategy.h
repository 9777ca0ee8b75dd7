#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/plan/param.h"

namespace orch::plan {

std::string_view name(ParamType type);

// A strategy that a backend offers to experiments, with its parameters.
struct Strategy {
  std::string name;
  std::string backend;
  std::string backend_version;
  std::string doc;
  std::vector<Param> params;

  int index(std::string_view param) const;  // -1 if there is no such parameter
};

using StrategyPtr = std::shared_ptr<const Strategy>;

// Accepts 8 and 8.0, but not 8.5 or a string. finite_number: any finite number.
std::optional<std::int64_t> whole_number(const Value& value);
std::optional<double> number(const Value& value);

// The value converted to the parameter's type (3 for a real becomes 3.0), or an error.
Result<Value> conform(const Param& param, const Value& value, const std::string& place);

}  // namespace orch::plan
