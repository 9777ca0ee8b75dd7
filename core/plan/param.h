#pragma once

// A parameter by its name, type, default and limits. Header-only, with value.h alone of orch's: backends
// describe theirs in the same words (core/price/backend/spec.h).

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/value.h"

namespace orch::plan {

enum class ParamType { boolean, integer, real, choice, text };  // as ORCH_BOOLEAN, ... of the border

// One parameter that a backend understands, or a field of every run.
struct Param {
  std::string name;
  std::string doc;
  ParamType type = ParamType::integer;
  Value default_value = {};  // not given: the user must
  std::vector<std::string> choices = {};
  double min = 0;
  double max = 0;  // both 0: unbounded
  // A parameter of one choice of another one: powersgd_rank belongs to compression = "powersgd",
  // and Lua offers powersgd{ rank = ... }.
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
  Param of(std::string of_param, std::string of_choice) && {
    parent = std::move(of_param), choice = std::move(of_choice);
    return std::move(*this);
  }
  Param required() && {
    default_value = {};
    return std::move(*this);
  }
};

// In the making: integer("stage", "what is sharded", 1).range(1, 3).
namespace params {

inline Param integer(std::string name, std::string doc, std::int64_t value = 0) {
  return {std::move(name), std::move(doc), ParamType::integer, value};
}
inline Param boolean(std::string name, std::string doc, bool value = false) {
  return {std::move(name), std::move(doc), ParamType::boolean, value};
}
inline Param real(std::string name, std::string doc, double value = 0) {
  return {std::move(name), std::move(doc), ParamType::real, value};
}
inline Param text(std::string name, std::string doc, std::string value = "") {
  return {std::move(name), std::move(doc), ParamType::text, std::move(value)};
}
// The first is the default.
inline Param choice(std::string name, std::string doc, std::vector<std::string> choices) {
  return {std::move(name), std::move(doc), ParamType::choice, choices.front(), choices};
}

}  // namespace params

}  // namespace orch::plan
