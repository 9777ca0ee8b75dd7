#include "core/run/render/template.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/plan/lua/sandbox.h"
#include "core/run/render/compile.h"
#include "core/run/render/values.h"

namespace orch::render {
namespace {

constexpr std::size_t kLongestScript = 16 << 20;

// Lua calls the functions below and they leave by longjmp on an error: at that time, no C++ object
// that owns memory may exist, except those in the engine.

std::string& output(lua_State* L) {
  return *static_cast<std::string*>(lua_touserdata(L, lua_upvalueindex(1)));
}

void append(lua_State* L, std::string_view text) noexcept { output(L).append(text); }

void check_room(lua_State* L, std::size_t size) {
  if (output(L).size() + size > kLongestScript)
    luaL_error(L, "the script is longer than 16 MiB\nis there a loop that writes too much?");
}

int write_text(lua_State* L) {
  std::size_t size = 0;
  const char* text = luaL_checklstring(L, 1, &size);
  check_room(L, size);
  append(L, {text, size});
  return 0;
}

// An integer is written as one, even if Lua computed it as 3e11: shells cannot compute with floats.
void write_number(lua_State* L) {
  char text[64];
  const auto number = lua_tonumber(L, 1);
  if (lua_isinteger(L, 1))
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(lua_tointeger(L, 1)));
  else if (number == std::floor(number) && std::fabs(number) < 9007199254740992.0)
    std::snprintf(text, sizeof text, "%.0f", number);
  else
    std::snprintf(text, sizeof text, "%.14g", number);
  append(L, text);
}

bool holds_control_character(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return true;
  return false;
}

void write_string(lua_State* L, const char* expression, int flags) {
  std::size_t size = 0;
  const char* start = lua_tolstring(L, 1, &size);
  const std::string_view text(start, size);
  if (text.find('\0') != std::string_view::npos)
    luaL_error(L, "{{ %s }} holds a NUL character\nremove it", expression);
  if ((flags & kOneLine) && holds_control_character(text))
    luaL_error(L,
               "{{ %s }} holds a control character\na line break would end this line: use it only "
               "outside comments and #SBATCH lines",
               expression);
  check_room(L, 5 * size);
  if (flags & kRaw)
    append(L, text);
  else
    append(L, shell_quote(text));
}

int write_value(lua_State* L) {
  const char* expression = lua_tostring(L, 2);
  const auto flags = static_cast<int>(lua_tointeger(L, 3));
  check_room(L, 64);
  switch (lua_type(L, 1)) {
    case LUA_TSTRING:
      write_string(L, expression, flags);
      return 0;
    case LUA_TNUMBER:
      write_number(L);
      return 0;
    case LUA_TBOOLEAN:
      append(L, lua_toboolean(L, 1) ? "true" : "false");
      return 0;
    case LUA_TNIL:
      return luaL_error(L, "{{ %s }} has no value", expression);
    default:
      return luaL_error(L, "{{ %s }} is a %s, not a value", expression, luaL_typename(L, 1));
  }
}

// A global would survive from one script to the next, whose result would then depend on their
// order. The host, whose values are globals too, may define them.
int refuse_global(lua_State* L) {
  if (!lua::LuaBudget::of(L).running()) {
    lua_rawset(L, 1);
    return 0;
  }
  return luaL_error(L, "'%s' is not declared\nwrite: local %s = ...", luaL_tolstring(L, 2, nullptr),
                    lua_tostring(L, 2));
}

void forbid_globals(lua_State* L) {
  lua_pushglobaltable(L);
  lua_getmetatable(L, -1);
  lua_pushcfunction(L, &refuse_global);
  lua_setfield(L, -2, "__newindex");
  lua_pop(L, 2);
}

sol::object writer(lua_State* L, lua_CFunction function, std::string& output) {
  lua_pushlightuserdata(L, &output);
  lua_pushcclosure(L, function, 1);
  sol::object result(L, -1);
  lua_pop(L, 1);
  return result;
}

// Each expression is checked by itself: inside the whole chunk, an error in one would be reported
// elsewhere.
Errors check_expressions(lua::Sandbox& sandbox, const Compiled& compiled, const std::string& file) {
  Errors errors;
  for (const auto& expression : compiled.expressions) {
    auto loaded = sandbox.load("return (" + expression.text + ")", file);
    if (loaded) continue;
    const auto& error = loaded.error().front();
    errors.push_back({fmt::format("{}:{}", file, expression.line),
                      fmt::format("{{{{ {} }}}}: {}", expression.text, error.fact), error.fix});
  }
  return errors;
}

}  // namespace

struct Template::Engine {
  lua::Sandbox sandbox;
  std::string output;
  sol::object chunk, text, value;
};

Template::Template(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

Result<Template> Template::load(const fs::path& path) {
  auto text = read_file(path);
  if (!text) return text.error();
  return parse(*text, path.string());
}

Result<Template> Template::parse(std::string_view text, const std::string& file) {
  if (auto status = lua::check_source(text, file); !status) return status.error();
  auto compiled = compile(without_mark(text), file);
  if (!compiled) return compiled.error();
  auto engine = std::make_unique<Engine>();
  auto& sandbox = engine->sandbox;
  if (auto errors = check_expressions(sandbox, *compiled, file); !errors.empty()) return errors;
  auto chunk = sandbox.load(compiled->lua, file);
  if (!chunk) return chunk.error();
  lua_State* L = sandbox.state().lua_state();
  forbid_globals(L);
  engine->chunk = *chunk;
  engine->text = writer(L, &write_text, engine->output);
  engine->value = writer(L, &write_value, engine->output);
  return Template(std::move(engine));
}

Result<std::string> Template::render(const plan::Run& run, const PhaseContext& phase,
                                     const Context& context) {
  auto& engine = *engine_;
  set_values(engine.sandbox.state(), run, phase, context);
  engine.output.clear();
  auto done = engine.sandbox.call(engine.chunk, engine.text, engine.value);
  if (!done) return done.error();
  return engine.output;
}

}  // namespace orch::render
