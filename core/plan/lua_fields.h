#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/plan/value.h"

namespace orch::plan {

// Quotes bytes as a Lua string that reads back as exactly these bytes.
std::string lua_string(std::string_view text);
// A value as Lua reads it back.
std::string lua_literal(const Value& value);

// The fields of a table in the source of an experiment: name = value, name = value
class LuaFields {
 public:
  LuaFields& add(std::string_view name, const std::string& text);
  template <class Number>
  LuaFields& number(std::string_view name, Number value) {
    return value > 0 ? add(name, fmt::format("{}", value)) : *this;
  }
  LuaFields& word(std::string_view name, const std::string& text) {
    return text.empty() ? *this : add(name, lua_string(text));
  }
  bool empty() const { return out_.empty(); }
  std::string text() const { return out_.empty() ? "{}" : "{ " + out_ + " }"; }

 private:
  std::string out_;
};

}  // namespace orch::plan
