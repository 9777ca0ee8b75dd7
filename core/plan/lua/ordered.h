#pragma once

#include <lua.hpp>

namespace orch::lua {

// pairs(t) in the order of the keys: numbers ascending, then strings by their bytes, then false and
// true. Other keys have no order that lasts, so they are an error.
int ordered_pairs(lua_State* L);

// table.sort(t, less): a stable merge sort. Lua's own picks its pivot by the clock, which shows in
// the order of equal elements.
int stable_sort(lua_State* L);

}  // namespace orch::lua
