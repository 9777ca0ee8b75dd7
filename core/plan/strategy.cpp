#include "core/plan/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/base/text.h"
#include "core/plan/number_format.h"

namespace orch::plan {
namespace {

// "give an integer from 1 to 65536".
std::string range_text(const Param& param) {
  const auto wanted = fmt::format("give {}", name(param.type));
  if (param.min == 0 && param.max == 0) return wanted;
  return wanted + fmt::format(" from {} to {}", param.min, param.max);
}

bool in_range(const Param& param, double number) {
  return (param.min == 0 && param.max == 0) || (number >= param.min && number <= param.max);
}

// If any narrow number format is among the choices, all formats are accepted: whether a GPU
// supports one is checked with the run.
bool is_format_like(const Param& param, std::string_view text) {
  return param.name == "dtype" && is_narrow(text) && std::ranges::any_of(param.choices, is_narrow);
}

Result<Value> conform_choice(const Param& param, const Value& value, const std::string& place) {
  const auto* text = std::get_if<std::string>(&value);
  if (!text)
    return Error{place, show(value) + " is not a name", "one of: " + join(param.choices, ", ")};
  if (!contains(param.choices, *text) && !is_format_like(param, *text))
    return Error{place, "no choice " + show(value), suggestion(*text, param.choices)};
  return value;
}

}  // namespace

std::string_view name(ParamType type) {
  static constexpr std::array kNames{"true or false", "an integer", "a number", "a choice",
                                     "a string"};
  return kNames[static_cast<std::size_t>(type)];
}

int Strategy::index(std::string_view param) const {
  for (std::size_t i = 0; i < params.size(); ++i)
    if (params[i].name == param) return static_cast<int>(i);
  return -1;
}

std::optional<std::int64_t> whole_number(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  const auto* real = std::get_if<double>(&value);
  if (real && *real == std::floor(*real) && std::abs(*real) < 9e15)
    return static_cast<std::int64_t>(*real);
  return std::nullopt;
}

std::optional<double> number(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(&value);
  return real && std::isfinite(*real) ? std::optional(*real) : std::nullopt;
}

Result<Value> conform(const Param& param, const Value& value, const std::string& place) {
  const auto wrong_type = [&] {
    return Error{place, fmt::format("{} is not {}", show(value), name(param.type)),
                 param.doc.empty() ? range_text(param) : param.doc + ": " + range_text(param)};
  };
  switch (param.type) {
    case ParamType::choice:
      return conform_choice(param, value, place);
    case ParamType::boolean:
      return std::holds_alternative<bool>(value) ? Result<Value>(value) : wrong_type();
    case ParamType::text:
      return std::holds_alternative<std::string>(value) ? Result<Value>(value) : wrong_type();
    case ParamType::integer: {
      const auto integer = whole_number(value);
      if (!integer) return wrong_type();
      if (!in_range(param, static_cast<double>(*integer)))
        return Error{place, fmt::format("{} is out of range", *integer), range_text(param)};
      return Value(*integer);
    }
    case ParamType::real: {
      const auto real = number(value);
      if (!real) return wrong_type();
      if (!in_range(param, *real))
        return Error{place, fmt::format("{} is out of range", *real), range_text(param)};
      return Value(*real);
    }
  }
  return wrong_type();
}

}  // namespace orch::plan
