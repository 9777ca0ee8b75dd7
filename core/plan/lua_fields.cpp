#include "core/plan/lua_fields.h"

#include <algorithm>
#include <cctype>

namespace orch::plan {
namespace {

bool is_identifier(std::string_view name) {
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name.front())) &&
         std::all_of(name.begin(), name.end(), plain);
}

}  // namespace

std::string lua_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\{:03}", byte);
    else
      out += c;
  }
  return out + "\"";
}

std::string lua_literal(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return lua_string(*text);
  return show(value);
}

LuaFields& LuaFields::add(std::string_view name, const std::string& text) {
  if (!out_.empty()) out_ += ", ";
  out_ += is_identifier(name) ? std::string(name) : fmt::format("[{}]", lua_string(name));
  out_ += " = " + text;
  return *this;
}

}  // namespace orch::plan
