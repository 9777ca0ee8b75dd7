#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/plan/value.h"

namespace orch::plan {

enum class ParamType { boolean, integer, real, choice, text };

std::string_view name(ParamType type);

// One parameter that a backend understands.
struct Param {
  std::string name;
  std::string doc;
  ParamType type = ParamType::integer;
  Value default_value;  // not given: the user must
  std::vector<std::string> choices;
  double min = 0;
  double max = 0;  // both 0: unbounded
  // A parameter of one choice of another one: powersgd_rank belongs to compression = "powersgd",
  // and Lua offers powersgd{ rank = ... }.
  std::string parent;
  std::string choice;

  // "rank" for powersgd_rank; the name itself for a parameter without a parent.
  std::string field() const;
};

// Plain ones, with no default.
Param whole_param(const char* name, double min, double max, const char* doc);
Param real_param(const char* name, double min, double max, const char* doc);
Param text_param(const char* name, const char* doc);

// A name that a backend offers to experiments, with its parameters.
struct Strategy {
  std::string name;
  std::string backend;
  std::string backend_version;
  std::string doc;
  std::vector<Param> params;

  int index(std::string_view param) const;  // -1 if there is none
};

using StrategyPtr = std::shared_ptr<const Strategy>;

// 8 and 8.0, but not 8.5 or a text; any finite number.
std::optional<std::int64_t> whole_number(const Value& value);
std::optional<double> number(const Value& value);

// The value in the parameter's own type (3 for a real becomes 3.0), or what is wrong with it.
Result<Value> conform(const Param& param, const Value& value, const std::string& place);

}  // namespace orch::plan
