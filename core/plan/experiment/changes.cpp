#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/plan/experiment/spaces.h"
#include "core/plan/experiment/state.h"

namespace orch::experiment {
namespace {

constexpr const char* kSetExample =
    "write path=value, as in --set hardware.nodes=40 or --set strategies.1.micro_batch=1,2";

// A number, true, false or nil as Lua writes them; else the text itself.
sol::object scalar(sol::state_view lua, const std::string& text) {
  if (text == "true" || text == "false") return sol::make_object(lua, text == "true");
  if (text == "nil") return sol::make_object(lua, sol::lua_nil);
  if (lua_stringtonumber(lua.lua_state(), text.c_str()) == text.size() + 1) {
    sol::object number(lua.lua_state(), -1);
    lua_pop(lua.lua_state(), 1);
    return number;
  }
  return sol::make_object(lua, text);
}

// Text with quotes, braces or calls is evaluated as a Lua expression in the sandbox.
Result<sol::object> value_of(Loader::State& state, const std::string& text,
                             const std::string& place) {
  if (text.find_first_of("\"'{(") != std::string::npos)
    return state.sandbox().run("return " + text, place);
  sol::state_view lua(state.sandbox().state().lua_state());
  if (text.find(',') == std::string::npos) return scalar(lua, text);
  auto list = lua.create_table();
  for (const auto& part : split(text, ','))
    if (const std::string item(trim(part)); !item.empty()) list.add(scalar(lua, item));
  return sol::object(list);
}

std::optional<std::size_t> position(const std::string& step) {
  const auto number = number_from<std::size_t>(step);
  return number && *number > 0 ? number : std::nullopt;
}

// Applies one change by following its path through the tables.
class ChangeSetter {
 public:
  ChangeSetter(Loader::State& state, CommandLineChange& change, std::vector<std::string> path,
               sol::object value)
      : state_(state), change_(change), path_(std::move(path)), value_(std::move(value)) {}

  Status set(sol::table table, std::size_t at, const std::string& place) {
    const auto& step = path_[at];
    if (const auto tag = tag_of(table).kind; tag == "strategy" && at == 1)
      return in_only(table, at, place);
    const auto number = position(step);
    if (at == 1 && path_[0] == "strategies" && !number) return in_named(table, place);
    if (number && *number > table.size())
      return Error{place_text(), fmt::format("{} has {} entries", joined(at), table.size()),
                   table.size() == 0 ? "name a field instead"
                                     : fmt::format("give a position from 1 to {}", table.size())};
    if (number) return at_position(table, at, *number, place);
    return into(table, at, sol::make_object(table.lua_state(), step),
                place.empty() ? step : place + "." + step);
  }

 private:
  std::string place_text() const { return "--set " + printable(change_.text); }
  std::string joined(std::size_t count) const {
    return join(
        std::vector<std::string>(path_.begin(), path_.begin() + static_cast<std::ptrdiff_t>(count)),
        ".");
  }

  Status at_position(sol::table table, std::size_t at, std::size_t number,
                     const std::string& place) {
    const auto item = table.raw_get<sol::object>(number);
    const auto tag = tag_of(item);
    auto there = fmt::format("{}[{}]", place, number);
    if (tag.kind == "strategy") there += "." + tag.name;
    return into(table, at, sol::make_object(table.lua_state(), number), there);
  }

  // strategies = megatron{ … }, without a list around it.
  Status in_only(sol::table strategy, std::size_t at, const std::string& place) {
    const auto name = tag_of(strategy).name;
    if (path_[at] != name && path_[at] != "1") return no_strategy(path_[at], {name});
    if (at + 1 == path_.size())
      return Error{place_text(), "the path ends at a strategy, not at a field",
                   "name one of its fields"};
    return set(strategy, at + 1, place + "." + name);
  }

  // strategies.fsdp: every strategy of that name.
  Status in_named(sol::table list, const std::string& place) {
    std::vector<std::string> names;
    bool any = false;
    for (std::size_t i = 1; i <= list.size(); ++i) {
      const auto name = tag_of(list.raw_get<sol::object>(i)).name;
      if (!contains(names, name)) names.push_back(name);
      if (name != path_[1]) continue;
      any = true;
      if (auto status = at_position(list, 1, i, place); !status) return status;
    }
    return any ? Status() : no_strategy(path_[1], names);
  }

  Status no_strategy(const std::string& name, const std::vector<std::string>& names) const {
    return Error{place_text(), fmt::format("no strategy '{}' in this experiment", printable(name)),
                 suggestion(name, names) + "; or its position in the list, from 1"};
  }

  // Sets the field, or goes further into it. Missing tables are created: the reader checks what is
  // allowed.
  Status into(sol::table table, std::size_t at, const sol::object& key, const std::string& place) {
    if (at + 1 == path_.size()) {
      table.raw_set(key, value_);
      change_.places.push_back(place);
      return {};
    }
    sol::state_view lua(table.lua_state());
    const auto held = table.raw_get<sol::object>(key);
    if (held.get_type() == sol::type::string && path_[0] == "model" && at + 2 == path_.size())
      return in_preset(table, key, held.as<std::string>(), place);
    if (held.valid() && held.get_type() != sol::type::table)
      return Error{place_text(),
                   fmt::format("{} is {}, and has no fields", joined(at + 1), type_name(held)),
                   "end the path there"};
    auto child = held.valid() ? copy_of(held.as<sol::table>()) : lua.create_table();
    table.raw_set(key, child);
    return set(child, at + 1, place);
  }

  // model = "bloom-7b": the preset with one size changed, as preset() makes it.
  Status in_preset(sol::table table, const sol::object& key, const std::string& name,
                   const std::string& place) {
    auto& sandbox = state_.sandbox();
    auto changes = sandbox.state().create_table();
    changes[path_.back()] = value_;
    const auto preset = sandbox.state().get<sol::object>("preset");
    const auto made = sandbox.call(preset, name, changes);
    if (!made) return made.error();
    table.raw_set(key, *made);
    change_.places.push_back(place + "." + path_.back());
    return {};
  }

  Loader::State& state_;
  CommandLineChange& change_;
  std::vector<std::string> path_;
  sol::object value_;
};

// "200b.lua:14: strategies[1]" and "200b.lua: hardware.nods" without the file.
std::string_view inside(std::string_view place, const std::string& file) {
  if (!place.starts_with(file)) return place;
  const auto colon = place.find(": ", file.size());
  return colon == std::string_view::npos ? place : place.substr(colon + 2);
}

bool is_below(std::string_view inner, std::string_view outer) {
  return inner.starts_with(outer) &&
         (inner.size() == outer.size() || inner[outer.size()] == '.' || inner[outer.size()] == '[');
}

}  // namespace

Result<CommandLineChange> apply_change(Loader::State& state, const std::string& text,
                                       sol::table& top) {
  CommandLineChange change{text, {}};
  const auto equals = text.find('=');
  const auto place = "--set " + printable(text);
  auto path = split(trim(std::string_view(text).substr(0, equals)), '.');
  const bool hole =
      std::any_of(path.begin(), path.end(), [](const auto& step) { return step.empty(); });
  if (equals == std::string::npos || hole)
    return Error{place, equals == std::string::npos ? "has no '='" : "a field name is missing",
                 kSetExample};
  const std::string word(trim(std::string_view(text).substr(equals + 1)));
  if (word.empty()) return Error{place, "has no value after '='", kSetExample};
  const auto value = value_of(state, word, place);
  if (!value) return value.error();
  top = copy_of(top);
  if (auto status = ChangeSetter(state, change, std::move(path), *value).set(top, 0, ""); !status)
    return status.error();
  return change;
}

void blame_changes(const std::vector<CommandLineChange>& changes, const std::string& file,
                   Errors& errors) {
  Errors out;
  for (auto error : errors) {
    const std::string at(inside(error.place, file));
    for (const auto& change : changes)
      for (const auto& place : change.places)
        if (is_below(at, place) || is_below(place, at))
          error.place = "--set " + printable(change.text) +
                        (at.size() > place.size() ? ": " + at : std::string());
    if (!contains(out, error)) out.push_back(std::move(error));
  }
  errors = std::move(out);
}

}  // namespace orch::experiment
