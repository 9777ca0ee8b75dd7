// Lua errors leave these functions by longjmp, so no object with a destructor may live in them.
// Memory comes from Lua, as userdata and tables, so that the collector frees it in any case.
#include <algorithm>
#include <string_view>

#include "core/plan/lua/budget.h"
#include "core/plan/lua/library.h"

namespace orch::lua {
namespace {

struct SortKey {
  int rank;  // numbers, strings, booleans
  bool is_integer;
  lua_Integer integer;
  lua_Number number;
  std::string_view text;
  lua_Integer index;  // index in the unsorted table of keys
};

bool operator<(const SortKey& a, const SortKey& b) {
  if (a.rank != b.rank) return a.rank < b.rank;
  if (a.rank == 1) return a.text < b.text;
  return a.is_integer && b.is_integer ? a.integer < b.integer : a.number < b.number;
}

SortKey read_key(lua_State* L, int at, lua_Integer index) {
  SortKey key{0, false, 0, 0, {}, index};
  switch (lua_type(L, at)) {
    case LUA_TNUMBER:
      key.is_integer = lua_isinteger(L, at);
      key.integer = lua_tointeger(L, at);
      key.number = lua_tonumber(L, at);
      break;
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* text = lua_tolstring(L, at, &size);
      key.rank = 1;
      key.text = {text, size};
      break;
    }
    case LUA_TBOOLEAN:
      key.rank = 2;
      key.number = lua_toboolean(L, at);
      break;
    default:
      luaL_error(L, "pairs: a %s as a key has no order\nuse numbers or strings as keys",
                 luaL_typename(L, at));
  }
  return key;
}

lua_Integer count_keys(lua_State* L, int table) {
  lua_Integer count = 0;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) ++count;
  return count;
}

// Pushes a table of the table's keys, sorted.
void push_sorted_keys(lua_State* L, int table) {
  const auto count = count_keys(L, table);
  LuaBudget::of(L).charge(L, 4 * count);
  auto* keys = static_cast<SortKey*>(
      lua_newuserdatauv(L, sizeof(SortKey) * static_cast<std::size_t>(count + 1), 0));
  lua_createtable(L, static_cast<int>(count), 0);
  const int found = lua_gettop(L);
  lua_Integer index = 0;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
    keys[index] = read_key(L, -2, index + 1);
    lua_pushvalue(L, -2);
    lua_rawseti(L, found, ++index);
  }
  std::sort(keys, keys + count);
  lua_createtable(L, static_cast<int>(count), 0);
  for (lua_Integer i = 0; i < count; ++i) {
    lua_rawgeti(L, found, keys[i].index);
    lua_rawseti(L, -2, i + 1);
  }
}

// Upvalues: the sorted keys, and the number already visited. A key that was removed meanwhile is
// skipped.
int next_pair(lua_State* L) {
  auto index = lua_tointeger(L, lua_upvalueindex(2));
  for (;;) {
    if (lua_rawgeti(L, lua_upvalueindex(1), ++index) == LUA_TNIL) return 1;
    lua_pushvalue(L, -1);
    if (lua_rawget(L, 1) != LUA_TNIL) break;
    lua_pop(L, 2);
  }
  lua_pushinteger(L, index);
  lua_replace(L, lua_upvalueindex(2));
  return 2;
}

// True if the element at the top of the stack is less than the one below it.
bool less(lua_State* L, int order) {
  if (order == 0) return lua_compare(L, -1, -2, LUA_OPLT);
  lua_pushvalue(L, order);
  lua_pushvalue(L, -2);
  lua_pushvalue(L, -4);
  lua_call(L, 2, 1);
  const bool answer = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return answer;
}

struct MergeSort {
  int from, to;  // tables
  int order;     // function, or 0 for <
};

// Merges from[left, middle) and from[middle, end) into to[left, end).
void merge(lua_State* L, const MergeSort& m, lua_Integer left, lua_Integer middle,
           lua_Integer end) {
  auto a = left;
  auto b = middle;
  for (auto out = left; out < end; ++out) {
    bool take_b = a == middle;
    if (!take_b && b < end) {
      lua_rawgeti(L, m.from, a);
      lua_rawgeti(L, m.from, b);
      take_b = less(L, m.order);
      lua_pop(L, 2);
    }
    lua_rawgeti(L, m.from, take_b ? b++ : a++);
    lua_rawseti(L, m.to, out);
  }
}

void copy(lua_State* L, int from, int to, lua_Integer count) {
  for (lua_Integer i = 1; i <= count; ++i) {
    lua_rawgeti(L, from, i);
    lua_rawseti(L, to, i);
  }
}

}  // namespace

int ordered_pairs(lua_State* L) {
  luaL_checkany(L, 1);
  if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {  // the host's own type
    lua_pushvalue(L, 1);
    lua_call(L, 1, 3);
    return 3;
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  push_sorted_keys(L, 1);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, &next_pair, 2);
  lua_pushvalue(L, 1);
  return 2;
}

int stable_sort(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  const bool ordered = !lua_isnoneornil(L, 2);
  if (ordered) luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  const auto count = static_cast<lua_Integer>(lua_rawlen(L, 1));
  // Sorts a copy: the order function may read the table.
  lua_createtable(L, static_cast<int>(count), 0);
  lua_createtable(L, static_cast<int>(count), 0);
  copy(L, 1, 3, count);
  MergeSort m{3, 4, ordered ? 2 : 0};
  for (lua_Integer width = 1; width < count; width *= 2) {
    LuaBudget::of(L).charge(L, 4 * count);
    for (lua_Integer left = 1; left <= count; left += 2 * width)
      merge(L, m, left, std::min(left + width, count + 1), std::min(left + 2 * width, count + 1));
    std::swap(m.from, m.to);
  }
  copy(L, m.from, 1, count);
  return 0;
}

}  // namespace orch::lua
