// As in ordered.cpp, a Lua error is a longjmp: a std::string must be destroyed before one can
// occur.
#include "core/plan/lua/library.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.h"
#include "core/plan/lua/budget.h"

namespace orch::lua {
namespace {

using LuaNames = std::initializer_list<std::string_view>;

// The functions that are kept of each library; all others are removed. Reasons for notable
// removals: pcall could swallow the error of a limit; patterns run exponentially inside C, where no
// hook sees it; table.move loops in C without limit; next shows the order of the hash.
const LuaNames kBase = {"assert", "error", "ipairs", "select", "tonumber", "type"};
const LuaNames kString = {"byte", "char",    "format", "len",  "lower",
                          "rep",  "reverse", "sub",    "upper"};
const LuaNames kTable = {"concat", "insert", "pack", "remove", "unpack"};
const LuaNames kMath = {"abs",  "acos",  "asin",       "atan",       "ceil", "cos",
                        "exp",  "floor", "fmod",       "huge",       "log",  "max",
                        "min",  "modf",  "maxinteger", "mininteger", "pi",   "sin",
                        "sqrt", "tan",   "tointeger",  "type",       "ult"};

const LuaNames kRefused = {"io",
                           "os",
                           "package",
                           "debug",
                           "coroutine",
                           "utf8",
                           "load",
                           "loadstring",
                           "loadfile",
                           "dofile",
                           "require",
                           "pcall",
                           "xpcall",
                           "next",
                           "_G",
                           "_ENV",
                           "collectgarbage",
                           "warn",
                           "setmetatable",
                           "getmetatable",
                           "rawget",
                           "rawset",
                           "rawequal",
                           "rawlen",
                           "string.dump",
                           "string.match",
                           "string.gmatch",
                           "string.gsub",
                           "string.pack",
                           "string.unpack",
                           "string.packsize",
                           "math.random",
                           "math.randomseed",
                           "table.move"};

// Removes the functions that are not in names from the library at the top of the stack.
void keep_only(lua_State* L, const LuaNames& names) {
  std::vector<std::string> gone;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
    if (!contains(names, std::string_view(lua_tostring(L, -2))))
      gone.emplace_back(lua_tostring(L, -2));
  for (const auto& name : gone) {
    lua_pushnil(L);
    lua_setfield(L, -2, name.c_str());
  }
}

void open(lua_State* L, const char* name, lua_CFunction opener, const LuaNames& names) {
  luaL_requiref(L, name, opener, 1);
  keep_only(L, names);
  lua_pop(L, 1);
}

// Like luaL_tolstring, but without addresses: what a script can see must not change between runs.
void push_text(lua_State* L, int at) {
  switch (lua_type(L, at)) {
    case LUA_TNUMBER:
      if (!lua_isinteger(L, at) && std::isnan(lua_tonumber(L, at))) {
        lua_pushliteral(L, "nan");  // the sign that printf shows depends on the processor
        return;
      }
      [[fallthrough]];
    case LUA_TNIL:
    case LUA_TBOOLEAN:
    case LUA_TSTRING:
      luaL_tolstring(L, at, nullptr);
      return;
    default:
      lua_pushstring(L, luaL_typename(L, at));
  }
}

int to_string(lua_State* L) {
  luaL_checkany(L, 1);
  push_text(L, 1);
  return 1;
}

int print(lua_State* L) {
  const int count = lua_gettop(L);
  luaL_Buffer line;
  luaL_buffinit(L, &line);
  for (int i = 1; i <= count; ++i) {
    if (i > 1) luaL_addchar(&line, '\t');
    push_text(L, i);
    luaL_addvalue(&line);
  }
  luaL_pushresult(&line);
  std::size_t size = 0;
  const char* text = lua_tolstring(L, -1, &size);
  std::fprintf(stderr, "lua: %s\n", printable({text, size}).c_str());
  return 0;
}

// Upvalue: Lua's own string.format, which would show the address of a table, or of anything by %p.
int format(lua_State* L) {
  std::size_t size = 0;
  const char* text = luaL_checklstring(L, 1, &size);
  for (int i = 2; i <= lua_gettop(L); ++i) {
    if (const int type = lua_type(L, i); type > LUA_TSTRING)
      return luaL_argerror(L, i, lua_pushfstring(L, "a %s has no text", lua_typename(L, type)));
    if (lua_type(L, i) != LUA_TNUMBER || !std::isnan(lua_tonumber(L, i))) continue;
    lua_pushnumber(L, std::numeric_limits<lua_Number>::quiet_NaN());  // as in push_text
    lua_replace(L, i);
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (text[i] != '%') continue;
    do ++i;
    while (i < size && std::string_view("-+ #0123456789.").find(text[i]) != std::string_view::npos);
    if (i < size && text[i] == 'p') return luaL_argerror(L, 1, "%p is not available");
  }
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

// Upvalue: Lua's own string.rep, which loops as often as told even for the empty string.
int repeat(lua_State* L) {
  std::size_t separator = 0;
  luaL_checklstring(L, 1, nullptr);
  luaL_optlstring(L, 3, "", &separator);
  const auto unit = lua_rawlen(L, 1) + separator;
  if (unit == 0) {
    lua_pushliteral(L, "");
    return 1;
  }
  LuaBudget::of(L).reserve(
      L, static_cast<double>(unit) * static_cast<double>(luaL_checkinteger(L, 2)));
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

// string.find(text, plain_text, init): no patterns.
int find(lua_State* L) {
  std::size_t text_size = 0;
  std::size_t word_size = 0;
  const char* text = luaL_checklstring(L, 1, &text_size);
  const char* word = luaL_checklstring(L, 2, &word_size);
  auto start = luaL_optinteger(L, 3, 1);
  if (start < 0) start = std::max<lua_Integer>(1, static_cast<lua_Integer>(text_size) + start + 1);
  start = std::max<lua_Integer>(start, 1);
  LuaBudget::of(L).charge(L, static_cast<lua_Integer>(text_size / 64 * (word_size + 1)));
  const auto from = static_cast<std::size_t>(start - 1);
  const auto at = from > text_size
                      ? std::string_view::npos
                      : std::string_view(text, text_size).find({word, word_size}, from);
  if (at == std::string_view::npos) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushinteger(L, static_cast<lua_Integer>(at) + 1);
  lua_pushinteger(L, static_cast<lua_Integer>(at + word_size));
  return 2;
}

// Upvalues: Lua's own insert or remove, and the number of arguments with which it moves elements in
// C.
int moving(lua_State* L) {
  if (lua_gettop(L) >= lua_tointeger(L, lua_upvalueindex(2)) && lua_istable(L, 1))
    LuaBudget::of(L).charge(L, static_cast<lua_Integer>(lua_rawlen(L, 1)));
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

std::vector<std::string> names_in(lua_State* L, int table) {
  std::vector<std::string> names;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1))
    if (lua_type(L, -2) == LUA_TSTRING) names.emplace_back(lua_tostring(L, -2));
  std::sort(names.begin(), names.end());
  return names;
}

std::string missing_message(lua_State* L, const std::string& library, const std::string& key) {
  const auto name = library.empty() ? key : library + "." + key;
  if (contains(kRefused, name))
    return name +
           " is not available\na script can only compute: it has no files, processes, clock, "
           "randomness, patterns or access to its own machinery";
  const auto known = names_in(L, 1);
  const auto near = nearest(key, known);
  return "no such name '" + printable(name) + "'" + (near ? "\ndid you mean '" + *near + "'?" : "");
}

bool is_identifier(lua_State* L, int at) {
  if (lua_type(L, at) != LUA_TSTRING) return false;
  const std::string_view text = lua_tostring(L, at);
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

// __index of the globals and of each library; upvalue: the library's name.
int missing(lua_State* L) {
  // The host, and sol2 with keys of its own, may look up names that do not exist; only in a script
  // is that an error.
  if (!LuaBudget::of(L).running() || !is_identifier(L, 2)) return 0;
  {
    const auto message =
        missing_message(L, lua_tostring(L, lua_upvalueindex(1)), lua_tostring(L, 2));
    luaL_where(L, 1);
    lua_pushlstring(L, message.data(), message.size());
  }
  lua_concat(L, 2);
  return lua_error(L);
}

// Replaces a function of the library at the top of the stack by `function`, which gets the old one
// as upvalue.
void wrap(lua_State* L, const char* name, lua_CFunction function) {
  lua_getfield(L, -1, name);
  lua_pushcclosure(L, function, 1);
  lua_setfield(L, -2, name);
}

void wrap_moving(lua_State* L, const char* name, int arguments) {
  lua_getfield(L, -1, name);
  lua_pushinteger(L, arguments);
  lua_pushcclosure(L, &moving, 2);
  lua_setfield(L, -2, name);
}

void set(lua_State* L, const char* name, lua_CFunction function) {
  lua_pushcfunction(L, function);
  lua_setfield(L, -2, name);
}

void replace_base(lua_State* L) {
  lua_pushglobaltable(L);
  set(L, "pairs", &ordered_pairs);
  set(L, "print", &print);
  set(L, "tostring", &to_string);
  report_missing(L, "");
  lua_pop(L, 1);
}

void replace_string(lua_State* L) {
  lua_getglobal(L, "string");
  wrap(L, "format", &format);
  wrap(L, "rep", &repeat);
  set(L, "find", &find);
  report_missing(L, "string");
  lua_pop(L, 1);
}

void replace_table(lua_State* L) {
  lua_getglobal(L, "table");
  wrap_moving(L, "insert", 3);
  wrap_moving(L, "remove", 2);
  set(L, "sort", &stable_sort);
  report_missing(L, "table");
  lua_pop(L, 1);
}

}  // namespace

void report_missing(lua_State* L, const char* name) {
  lua_createtable(L, 0, 1);
  lua_pushstring(L, name);
  lua_pushcclosure(L, &missing, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}

void open_library(lua_State* L) {
  open(L, LUA_GNAME, luaopen_base, kBase);
  open(L, LUA_STRLIBNAME, luaopen_string, kString);
  open(L, LUA_TABLIBNAME, luaopen_table, kTable);
  open(L, LUA_MATHLIBNAME, luaopen_math, kMath);
  replace_base(L);
  replace_string(L);
  replace_table(L);
  lua_getglobal(L, "math");
  report_missing(L, "math");
  lua_pop(L, 1);
}

}  // namespace orch::lua
