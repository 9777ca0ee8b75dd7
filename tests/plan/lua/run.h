#pragma once

#include "core/plan/lua/sandbox.h"
#include "tests/test.h"

template <>
struct Catch::StringMaker<orch::Error> {
  static std::string convert(const orch::Error& error) { return error.text(); }
};

namespace orch::lua {

// The script's result, as text.
inline std::string result_of(const std::string& script) {
  Sandbox sandbox;
  auto result = sandbox.run(script, "script.lua");
  INFO(script);
  if (!result) FAIL(text(result.error()));
  return result->as<std::string>();
}

// The only error of a script that must fail.
inline Error error_of(const std::string& script, Limits limits = {},
                      const std::string& name = "script.lua") {
  Sandbox sandbox(limits);
  auto result = sandbox.run(script, name);
  INFO(script);
  REQUIRE_FALSE(result);
  REQUIRE(result.error().size() == 1);
  return result.error().front();
}

}  // namespace orch::lua
