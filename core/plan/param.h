#pragma once

// A parameter by its name, type, default and limits; setting.h declares one.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/value.h"

namespace orch::plan {

enum class ParamType {
  boolean,
  integer,
  real,
  choice,
  text
};  // as ORCH_BOOLEAN, ... of the border

// One parameter that a backend understands, or a field of every run.
struct Param {
  std::string name;
  std::string doc;
  ParamType type = ParamType::integer;
  Value default_value = {};  // no value: the user must give one
  std::vector<std::string> choices = {};
  double min = 0;
  double max = 0;  // both 0: unbounded
  // The choice that a parameter belongs to: powersgd_rank belongs to compression = "powersgd", and
  // Lua offers powersgd{ rank = ... }.
  std::string parent = {};
  std::string choice = {};

  // "rank" for powersgd_rank; the name itself for a parameter without a parent.
  std::string field() const {
    return choice.empty() ? name : name.substr(std::min(name.size(), choice.size() + 1));
  }

  Param range(double low, double high) && {
    min = low, max = high;
    return std::move(*this);
  }
};

}  // namespace orch::plan
