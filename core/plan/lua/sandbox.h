#pragma once

#include <sol/sol.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "core/plan/lua/budget.h"

namespace orch::lua {

// Refuses bytecode, binary files, and text that is not UTF-8.
Status check_source(std::string_view text, const std::string& file);

// A Lua state in which a script can only compute: no files, processes, clock, randomness, bytecode
// or addresses, a fixed order (pairs, table.sort), and limits that end it. The same text always
// gives the same result. Values that it returns must not outlive it.
class Sandbox {
 public:
  explicit Sandbox(Limits limits = {});
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  sol::state& state() { return state_; }

  // Compiles the text; chunk_name is its file, for messages.
  Result<sol::protected_function> load(std::string_view text, std::string chunk_name);

  // Compiles and executes the text; returns its first result, or nil.
  Result<sol::object> run(std::string_view text, std::string chunk_name);

  // The first line of an error's message (error("...") in Lua, an exception in a C++ function that
  // Lua called) is the fact, and the rest is the fix.

  // Calls a function of the script and returns its first result. The budget is full at the start,
  // unless the call comes from a C++ function that the script called.
  template <class... Args>
  Result<sol::object> call(const sol::reference& function, Args&&... args) {
    lua_State* L = state_.lua_state();
    // Outside the protected call: converting an argument cannot fail and costs the script nothing.
    lua_checkstack(L, static_cast<int>(sizeof...(Args)) + 4);
    function.push(L);
    const int count = (0 + ... + sol::stack::push(L, std::forward<Args>(args)));
    return call_pushed(count);
  }

  // True if the last failed call broke a limit, so that repeating it is a waste of time.
  bool exhausted() const { return exhausted_; }

  // "experiment.lua:12", the line of user code that is being executed; "" if there is none. For C++
  // functions called by scripts.
  std::string place();

 private:
  Result<sol::object> call_pushed(int argument_count);
  Error failure(int status, bool loading = false);
  Error limit_error(LuaBudget::Broken broken) const;

  LuaBudget budget_;  // declared before state_, which allocates from it
  sol::state state_;
  std::string chunk_name_;  // the last one, for errors without a better place
  bool exhausted_ = false;
};

// A script's string for a message: printable, at most its first thousand bytes.
std::string shown(std::string_view text);

// "a number", "a string", "nothing": for messages.
std::string type_name(const sol::object& object);

}  // namespace orch::lua
