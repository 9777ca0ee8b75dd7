#pragma once

#include <lua.hpp>

namespace orch::lua {

// Gives a new state the part of Lua's library that a closed, deterministic script may use, with
// ordered pairs, a stable table.sort, and clear errors for names that do not exist. The state's
// allocator must be a Budget.
void open_library(lua_State* L);

// Makes reading a field that the table at the top of the stack does not have an error with a
// suggestion: "no such name 'job.acount'". For scripts only; the host still reads nil.
void report_missing(lua_State* L, const char* name);

// pairs(t) in the order of the keys: numbers ascending, then strings by their bytes, then false and
// true. Other keys have no order that lasts, so they are an error.
int ordered_pairs(lua_State* L);

// table.sort(t, less): a stable merge sort. Lua's own picks its pivot by the clock, which shows in
// the order of equal elements.
int stable_sort(lua_State* L);

}  // namespace orch::lua
