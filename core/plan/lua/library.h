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

}  // namespace orch::lua
