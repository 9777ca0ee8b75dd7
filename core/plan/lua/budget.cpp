#include "core/plan/lua/budget.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace orch::lua {
namespace {

constexpr int kInstructionsPerHook = 1000;
constexpr std::size_t kBytesPerInstruction = 64;

// Smaller blocks are granted even beyond the limit, which the next hook enforces instead: a refusal
// is a longjmp, and C++ functions that scripts call convert small values meanwhile.
constexpr std::size_t kSmallBlock = 16 << 10;

double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

LuaBudget& LuaBudget::of(lua_State* L) {
  void* budget = nullptr;
  lua_getallocf(L, &budget);
  return *static_cast<LuaBudget*>(budget);
}

void* LuaBudget::allocate(void* self, void* block, std::size_t old_size,
                          std::size_t new_size) noexcept {
  auto& budget = *static_cast<LuaBudget*>(self);
  if (!block) old_size = 0;  // Lua passes the kind of the new object there
  if (new_size == 0) {
    budget.memory_used_ -= old_size;
    std::free(block);
    return nullptr;
  }
  if (budget.running() && !budget.allows(old_size, new_size)) return nullptr;
  void* moved = std::realloc(block, new_size);
  if (moved) budget.memory_used_ += new_size - old_size;
  return moved;
}

bool LuaBudget::allows(std::size_t old_size, std::size_t new_size) noexcept {
  if (new_size <= old_size) return true;  // Lua requires shrinking to succeed
  // Allocation also counts as work: one instruction can join two strings of 100 MB.
  instructions_left_ -= static_cast<std::int64_t>(new_size / kBytesPerInstruction);
  const bool too_much = memory_used_ + (new_size - old_size) > limits_.memory;
  if (!too_much && instructions_left_ >= 0) return true;
  if (new_size <= kSmallBlock) return true;
  note_place();
  return false;
}

void LuaBudget::begin(lua_State* L) {
  if (depth_++ > 0) return;
  state_ = L;
  instructions_left_ = limits_.instructions;
  started_ = 0;
  broken_ = Broken::nothing;
  source_.clear();
  line_ = 0;
  const auto step = std::clamp<std::int64_t>(limits_.instructions, 1, kInstructionsPerHook);
  lua_sethook(L, &LuaBudget::hook, LUA_MASKCOUNT, static_cast<int>(step));
}

void LuaBudget::end(lua_State* L) {
  if (--depth_ == 0) lua_sethook(L, nullptr, 0, 0);
}

void LuaBudget::hook(lua_State* L, lua_Debug*) { of(L).charge(L, lua_gethookcount(L)); }

void LuaBudget::charge(lua_State* L, std::int64_t instructions) {
  instructions_left_ -= instructions;
  check(L);
}

void LuaBudget::reserve(lua_State* L, double bytes) {
  if (bytes <= static_cast<double>(limits_.memory)) return;
  broken_ = Broken::memory;
  luaL_error(L, "limit");
}

void LuaBudget::check(lua_State* L) {
  if (started_ == 0) started_ = now();
  if (memory_used_ > limits_.memory) {
    lua_gc(L, LUA_GCCOLLECT);
    if (memory_used_ > limits_.memory) broken_ = Broken::memory;
  }
  if (now() - started_ > limits_.seconds) broken_ = Broken::seconds;
  if (instructions_left_ < 0) broken_ = Broken::instructions;
  if (broken_ != Broken::nothing) luaL_error(L, "limit");
}

LuaBudget::Broken LuaBudget::broken(int status) const {
  if (broken_ != Broken::nothing || status != LUA_ERRMEM) return broken_;
  return instructions_left_ < 0 ? Broken::instructions : Broken::memory;
}

void LuaBudget::note_place() noexcept {
  lua_Debug activation;
  if (!innermost(state_, activation)) return;
  source_ = activation.source;
  line_ = activation.currentline;
}

bool innermost(lua_State* L, lua_Debug& activation) {
  for (int level = 0; lua_getstack(L, level, &activation); ++level) {
    lua_getinfo(L, "Sl", &activation);
    if (activation.currentline > 0) return true;
  }
  return false;
}

}  // namespace orch::lua
