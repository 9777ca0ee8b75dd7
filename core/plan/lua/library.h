#pragma once

#include <lua.hpp>

namespace orch::lua {

// Opens the part of Lua's library that a closed, deterministic script may use, with ordered pairs,
// a stable table.sort, and clear errors for unknown names. The state's allocator must be a
// LuaBudget.
void open_library(lua_State* L);

// Makes reading a missing field of the table at the top of the stack an error with a suggestion:
// "no such name 'job.acount'". For scripts only; the host still reads nil.
void report_missing(lua_State* L, const char* name);

// pairs(t) in the order of the keys: numbers ascending, then strings by their bytes, then false and
// true. Other keys have no stable order and raise an error.
int ordered_pairs(lua_State* L);

// table.sort(t, less): a stable merge sort. Lua's own picks its pivot by the clock, which affects
// the order of equal elements.
int stable_sort(lua_State* L);

}  // namespace orch::lua
