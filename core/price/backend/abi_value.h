#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "core/plan/param.h"
#include "include/orch/backend.h"

#pragma GCC visibility push(hidden)

namespace orch::backend {

// A value as the border represents it; a string points into the original.
inline orch_value to_abi(const plan::Value& value, plan::ParamType type) {
  orch_value to{sizeof to, static_cast<std::uint32_t>(type), plan::is_given(value) ? 1u : 0u, 0, 0,
                nullptr};
  if (const auto* flag = std::get_if<bool>(&value)) {
    to.integer = *flag ? 1 : 0;
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    to.text = text->c_str();
  } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    to.integer = *whole;
    to.real = static_cast<double>(*whole);
  } else if (const auto* real = std::get_if<double>(&value)) {
    to.real = *real;
  }
  return to;
}

}  // namespace orch::backend

#pragma GCC visibility pop
