#pragma once

#include <cstddef>
#include <cstdint>
#include <lua.hpp>
#include <string>

namespace orch::lua {

// The limits of a script. A call from C++ starts with a full budget; memory counts live objects.
struct Limits {
  std::int64_t instructions = 50'000'000;
  std::size_t memory = std::size_t{256} << 20;
  // The last limit, for single instructions that take long (comparing huge strings).
  double seconds = 60;
};

// Counts what a script uses, as the allocator and the count hook of its state. Limits apply only
// while user code runs: the host's own conversions, outside any protected call, never fail.
class LuaBudget {
 public:
  enum class Broken { nothing, instructions, memory, seconds };

  explicit LuaBudget(Limits limits) : limits_(limits) {}

  // The budget of a state that uses allocate().
  static LuaBudget& of(lua_State* L);
  static void* allocate(void* budget, void* block, std::size_t old_size,
                        std::size_t new_size) noexcept;

  // To be called around user code. Calls nest: only the outermost begin() resets the budget.
  void begin(lua_State* L);
  void end(lua_State* L);
  bool running() const { return depth_ > 0; }

  // For C functions whose work grows with their input. Raises a Lua error when the budget is used
  // up.
  void charge(lua_State* L, std::int64_t instructions);
  // For C functions that know how much they will allocate. Raises an error if it is too much.
  void reserve(lua_State* L, double bytes);

  // The limit that a failed call broke, if any.
  Broken broken(int status) const;
  const Limits& limits() const { return limits_; }

  // Where user code was when memory was refused: Lua runs no message handler for that error.
  const std::string& source() const { return source_; }
  int line() const { return line_; }

 private:
  static void hook(lua_State* L, lua_Debug* activation);
  bool allows(std::size_t old_size, std::size_t new_size) noexcept;
  void check(lua_State* L);
  void note_place() noexcept;

  Limits limits_;
  lua_State* state_ = nullptr;
  int depth_ = 0;
  std::int64_t instructions_left_ = 0;
  std::size_t memory_used_ = 0;
  double started_ = 0;
  Broken broken_ = Broken::nothing;
  std::string source_;
  int line_ = 0;
};

// Gets the innermost active Lua function, if any. Allocates nothing.
bool innermost(lua_State* L, lua_Debug& activation);

}  // namespace orch::lua
