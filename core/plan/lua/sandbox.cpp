#include "core/plan/lua/sandbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/base/utf8.h"
#include "core/plan/lua/library.h"

namespace orch::lua {
namespace {

constexpr std::size_t kLongestMessage = 1000;

// Reached only through a bug of ours: a Lua error outside every protected call. sol2's own handler
// would throw through Lua's C frames, which cannot unwind.
int panic(lua_State* L) {
  const char* message = lua_tostring(L, -1);
  check_failed("a protected call", message ? message : "Lua error", __FILE__, __LINE__);
}

// Runs where an error occurs, while the script's stack still exists. Appends the source and the
// line to the message, because only the message survives. No C++ object with a destructor may live
// here: any lua_ call can longjmp.
int message_handler(lua_State* L) {
  lua_Debug activation;
  lua_createtable(L, 0, 4);
  lua_pushvalue(L, 1);
  lua_setfield(L, -2, "value");
  if (innermost(L, activation)) {
    lua_pushstring(L, activation.source);
    lua_setfield(L, -2, "source");
    lua_pushstring(L, activation.short_src);
    lua_setfield(L, -2, "short");
    lua_pushinteger(L, activation.currentline);
    lua_setfield(L, -2, "line");
  }
  return 1;
}

std::string take_string(lua_State* L, const char* field) {
  lua_getfield(L, -1, field);
  std::size_t size = 0;
  const char* text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : "";
  std::string out(text, size);
  lua_pop(L, 1);
  return out;
}

// "@experiment.lua" -> "experiment.lua".
std::string file_of(const std::string& source) {
  return source.starts_with('@') ? source.substr(1) : source;
}

// The name as Lua's own messages show it: shortened at the front if it is long.
std::string short_name(const std::string& chunk_name) {
  if (chunk_name.size() < LUA_IDSIZE) return chunk_name;
  return "..." + chunk_name.substr(chunk_name.size() - (LUA_IDSIZE - 4));
}

// The argument of error(): a string or number as it is, other values by their type.
std::string raised_value(lua_State* L) {
  lua_getfield(L, -1, "value");
  std::size_t size = 0;
  std::string out;
  if (lua_isstring(L, -1)) {
    const char* text = lua_tolstring(L, -1, &size);
    out.assign(text, size);
  } else {
    out = fmt::format("error was called with a {} instead of a message", luaL_typename(L, -1));
  }
  lua_pop(L, 1);
  return out;
}

// The first line of a message is the fact; what follows it is the fix.
Error split_message(const std::string& place, const std::string& message, bool loading) {
  const auto end = std::min(message.find('\n'), message.size());
  Error error{place, shown(message.substr(0, end)), shown(std::string(trim(message.substr(end))))};
  if (error.fix.empty() && error.fact.find("stack overflow") != std::string::npos)
    error.fix = loading ? "nest less deeply" : "does a function call itself without end?";
  return error;
}

// Splits Lua's "experiment.lua:12: message" into place and message; Lua may have shortened the
// file's name to `short_name`. The place is empty if there is no such prefix.
struct LocatedMessage {
  std::string place;
  std::string message;
};
LocatedMessage locate(std::string_view message, std::string_view short_name,
                      const std::string& file) {
  if (short_name.empty() || !message.starts_with(short_name)) return {"", std::string(message)};
  auto rest = message.substr(short_name.size());
  if (!rest.starts_with(':')) return {"", std::string(message)};
  std::size_t end = 1;
  while (end < rest.size() && std::isdigit(static_cast<unsigned char>(rest[end]))) ++end;
  if (end == 1 || rest.substr(end, 2) != ": ") return {"", std::string(message)};
  return {file + std::string(rest.substr(0, end)), std::string(rest.substr(end + 2))};
}

std::string line_place(std::string_view before, const std::string& file) {
  return file + ":" + std::to_string(1 + std::count(before.begin(), before.end(), '\n'));
}

}  // namespace

Status check_source(std::string_view text, const std::string& file) {
  const char* fix = "give a file in plain text";
  if (text.starts_with('\x1b')) return Error{file, "this is Lua bytecode, not text", fix};
  if (text.find('\0') != std::string_view::npos)
    return Error{file, "this is a binary file, not text", fix};
  const auto valid = valid_prefix(text);
  if (valid < text.size())
    return Error{line_place(text.substr(0, valid), file), "not UTF-8", "save the file as UTF-8"};
  return {};
}

Sandbox::Sandbox(Limits limits)
    : budget_(limits), state_(&panic, &LuaBudget::allocate, static_cast<void*>(&budget_)) {
  lua_atpanic(state_.lua_state(), &panic);
  open_library(state_.lua_state());
}

Result<sol::protected_function> Sandbox::load(std::string_view text, std::string chunk_name) {
  chunk_name_ = std::move(chunk_name);
  if (auto status = check_source(text, chunk_name_); !status) return status.error();
  text = without_mark(text);
  lua_State* L = state_.lua_state();
  budget_.begin(L);
  const int status =
      luaL_loadbufferx(L, text.data(), text.size(), ("@" + chunk_name_).c_str(), "t");
  budget_.end(L);
  if (status != LUA_OK) return failure(status, true);
  sol::protected_function function(L, -1);
  lua_pop(L, 1);
  return function;
}

Result<sol::object> Sandbox::run(std::string_view text, std::string chunk_name) {
  // Restored afterwards, because one script may include another.
  const auto outer = chunk_name_;
  const bool is_inner = budget_.running();
  const auto function = load(text, std::move(chunk_name));
  auto result = function ? call(*function) : Result<sol::object>(function.error());
  if (is_inner) chunk_name_ = outer;
  return result;
}

Result<sol::object> Sandbox::call_pushed(int argument_count) {
  lua_State* L = state_.lua_state();
  const int function = lua_gettop(L) - argument_count;
  lua_pushcfunction(L, &message_handler);
  lua_insert(L, function);
  budget_.begin(L);
  const int status = lua_pcall(L, argument_count, 1, function);
  budget_.end(L);
  lua_remove(L, function);
  if (status != LUA_OK) return failure(status);
  sol::object result(L, -1);
  lua_pop(L, 1);
  return result;
}

std::string Sandbox::place() {
  lua_Debug activation;
  if (!innermost(state_.lua_state(), activation)) return "";
  return fmt::format("{}:{}", file_of(activation.source), activation.currentline);
}

// Converts the error that a failed call or load left on the stack.
Error Sandbox::failure(int status, bool loading) {
  lua_State* L = state_.lua_state();
  LocatedMessage located{"", ""};
  std::string at = chunk_name_;
  if (lua_istable(L, -1)) {
    const auto file = file_of(take_string(L, "source"));
    located = locate(raised_value(L), take_string(L, "short"), file);
    lua_getfield(L, -1, "line");
    if (!file.empty()) at = fmt::format("{}:{}", file, lua_tointeger(L, -1));
    lua_pop(L, 1);
  } else if (lua_type(L, -1) == LUA_TSTRING) {
    located = locate(lua_tostring(L, -1), short_name(chunk_name_), chunk_name_);
    if (!budget_.source().empty())
      at = fmt::format("{}:{}", file_of(budget_.source()), budget_.line());
  }
  lua_pop(L, 1);
  if (!located.place.empty()) at = located.place;
  const auto broken = budget_.broken(status);
  exhausted_ = broken != LuaBudget::Broken::nothing;
  if (exhausted_) {
    auto error = limit_error(broken);
    error.place = at;
    return error;
  }
  return split_message(at, located.message, loading);
}

Error Sandbox::limit_error(LuaBudget::Broken broken) const {
  const auto& limits = budget_.limits();
  switch (broken) {
    case LuaBudget::Broken::memory:
      return {"", fmt::format("more than {} MiB of memory", limits.memory / (std::size_t{1} << 20)),
              "build smaller tables and strings; a sweep needs no table per run"};
    case LuaBudget::Broken::seconds:
      return {"", fmt::format("more than {} seconds", limits.seconds),
              "do less work in the script"};
    default:
      return {"",
              fmt::format("more than {} instructions; is there an endless loop?",
                          group_digits(static_cast<double>(limits.instructions))),
              "end the loop, or do less work in the script"};
  }
}

std::string shown(std::string_view text) {
  if (text.size() <= kLongestMessage) return printable(text);
  return printable(text.substr(0, kLongestMessage)) + "...";
}

std::string type_name(const sol::object& object) {
  switch (object.get_type()) {
    case sol::type::none:
    case sol::type::lua_nil:
      return "nothing";
    case sol::type::string:
      return "a string";
    default:
      return "a " + std::string(sol::type_name(object.lua_state(), object.get_type()));
  }
}

}  // namespace orch::lua
