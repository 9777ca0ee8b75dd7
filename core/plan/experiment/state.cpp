#include "core/plan/experiment/state.h"

#include <fmt/format.h>

#include <cctype>

#include "core/base/text.h"
#include "core/plan/family.h"
#include "core/plan/fields.h"

namespace orch::experiment {
namespace {

// std::runtime_error, because sol::error prefixes its message with "lua: error: ".
[[noreturn]] void raise(const std::string& message) { throw std::runtime_error(message); }

// True for an argument that exists: sol2 gives "none" for a missing one, which must not be asked
// for a value.
bool is_text(const sol::object& object) { return object.get_type() == sol::type::string; }

}  // namespace

void set_tag(sol::table table, const ConstructorTag& tag) {
  sol::state_view lua(table.lua_state());
  auto metatable = lua.create_table();
  metatable["orch_kind"] = tag.kind;
  metatable["orch_name"] = tag.name;
  metatable["orch_place"] = tag.place;
  table[sol::metatable_key] = metatable;
}

ConstructorTag tag_of(const sol::object& object) {
  if (object.get_type() != sol::type::table) return {};
  const sol::optional<sol::table> metatable = object.as<sol::table>()[sol::metatable_key];
  if (!metatable) return {};
  return {metatable->get_or<std::string>("orch_kind", ""),
          metatable->get_or<std::string>("orch_name", ""),
          metatable->get_or<std::string>("orch_place", "")};
}

sol::table copy_of(const sol::table& from) {
  auto to = sol::state_view(from.lua_state()).create_table();
  for (const auto& [key, value] : from) to.raw_set(key, value);
  if (const auto tag = tag_of(from); !tag.kind.empty()) set_tag(to, tag);
  return to;
}

std::optional<plan::Value> to_value(const sol::object& object) {
  switch (object.get_type()) {
    case sol::type::lua_nil:
      return plan::Value();
    case sol::type::boolean:
      return plan::Value(object.as<bool>());
    case sol::type::string:
      return plan::Value(object.as<std::string>());
    case sol::type::number: {
      object.push();
      const bool whole = lua_isinteger(object.lua_state(), -1) != 0;
      lua_pop(object.lua_state(), 1);
      if (whole) return plan::Value(object.as<std::int64_t>());
      return plan::Value(object.as<double>());
    }
    default:
      return std::nullopt;
  }
}

sol::stack_object push(lua_State* lua, const plan::Value& value) {
  std::visit(
      [&](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>)
          sol::stack::push(lua, sol::lua_nil);
        else
          sol::stack::push(lua, held);
      },
      value);
  return {lua, -1};
}

std::string shown(const sol::object& value) {
  const auto plain = to_value(value);
  return plain && plan::is_given(*plain) ? plan::show(*plain) : type_name(value);
}

std::string type_name(const sol::object& object) {
  const auto tag = tag_of(object);
  return tag.kind.empty() ? lua::type_name(object) : tag.name + "{}";
}

namespace {

// Raw access to the globals: sol's own view consults their metatable even for raw access, and the
// metatable raises an error for every unknown name.
sol::table plain_globals(lua::Sandbox& sandbox) { return sandbox.state().globals(); }

}  // namespace

Loader::State::State(std::vector<plan::StrategyPtr> strategies, std::vector<fs::path> models_files,
                     std::vector<std::string> quantities)
    : strategies_(std::move(strategies)),
      quantities_(std::move(quantities)),
      models_files_(std::move(models_files)) {}

void Loader::State::look_for_models(std::vector<fs::path> models_files) {
  presets_read_ = presets_read_ && models_files == models_files_;
  models_files_ = std::move(models_files);
}

fs::path Loader::State::preset_file(const std::string& name) const {
  const auto found = preset_files_.find(name);
  return found == preset_files_.end() ? fs::path() : found->second;
}

Status Loader::State::prepare() {
  if (prepared_) return read_presets();
  prepared_ = true;
  for (const auto& family : plan::family_names()) define(family, "model");
  define("zip", "zip");
  define("experiment", "experiment");
  for (const auto& strategy : strategies_) {
    define(strategy->name, "strategy");
    for (const auto& param : strategy->params)
      if (!param.choice.empty()) define(param.choice, "choice");
  }
  define_preset();
  define_expand();
  define_record();
  includes_.define();
  return read_presets();
}

// name{ … } gives a tagged copy of its table.
void Loader::State::define(const std::string& name, const std::string& kind) {
  sandbox_.state()[name] = [this, name, kind](const sol::object& argument) {
    if (argument.get_type() != sol::type::table || !tag_of(argument).kind.empty())
      raise(fmt::format("{} takes a table of its own: {}{{ ... }}, not {}", name, name,
                        type_name(argument)));
    auto table = copy_of(argument.as<sol::table>());
    set_tag(table, {kind, name, sandbox_.place()});
    return table;
  };
}

// preset("bloom-7b", { seq = 1024 }): a copy of a known model with some sizes changed.
void Loader::State::define_preset() {
  sandbox_.state()["preset"] = [this](const sol::object& wanted, const sol::object& changed) {
    if (!is_text(wanted))
      raise(
          fmt::format("preset takes the name of a model, not {}\n  write preset(\"bloom-7b\", {{ "
                      "seq = 1024 }})",
                      type_name(wanted)));
    if (changed.valid() &&
        (changed.get_type() != sol::type::table || !tag_of(changed).kind.empty()))
      raise(fmt::format("preset takes a plain table of changes, not {}", type_name(changed)));
    const auto name = wanted.as<std::string>();
    const auto found = presets_.find(name);
    if (found == presets_.end())
      raise(fmt::format("no model '{}'\n  {}", printable(name),
                        suggestion(name, all_names(presets_))));
    auto table = copy_of(found->second);
    table["name"] = name;
    if (changed.valid()) {
      const auto changes = changed.as<sol::table>();
      for (const char* size : {"layers", "hidden", "heads", "vocab"})
        if (changes.raw_get<sol::object>(size).valid())
          table["name"] = sol::lua_nil;  // a changed model needs a new name
      for (const auto& [key, value] : changes) table.raw_set(key, value);
    }
    set_tag(table, {"model", tag_of(found->second).name, sandbox_.place()});
    return table;
  };
}

// expand "$WORK/models": a string in which $NAMES are expanded where the job runs.
void Loader::State::define_expand() {
  sandbox_.state()["expand"] = [this](const sol::object& text) {
    if (!is_text(text))
      raise(fmt::format("expand takes a string, not {}\n  write expand \"$WORK/models\"",
                        type_name(text)));
    auto table = sandbox_.state().create_table();
    table[1] = text;
    set_tag(table, {"expand", "expand", sandbox_.place()});
    return table;
  };
}

void Loader::State::define_record() {
  record_ = sandbox_.state().create_table();
  auto metatable = sandbox_.state().create_table();
  // Values on Lua's stack need no registry reference.
  metatable["__index"] = [this](sol::stack_object, sol::stack_object field) {
    if (field.get_type() != sol::type::string)
      raise(fmt::format("{} is not the name of a field", type_name(sol::object(field))));
    const auto value = (*lookup_)(field.as<std::string>());
    if (!value) raise(text(value.error()));
    return push(sandbox_.state().lua_state(), *value);
  };
  metatable["__newindex"] = [](const sol::table&, const sol::object&, const sol::object&) {
    raise("a run cannot be changed here: return the value instead");
  };
  record_[sol::metatable_key] = metatable;
}

Status Loader::State::read_presets() {
  if (std::exchange(presets_read_, true)) return {};
  presets_.clear();
  preset_files_.clear();
  for (const auto& name : std::exchange(families_, {}))
    plain_globals(sandbox_).raw_set(name, sol::lua_nil);
  for (auto file = models_files_.rbegin(); file != models_files_.rend(); ++file) {
    const auto shown =
        file == models_files_.rbegin() ? file->filename() : *file;  // the shipped file
    if (auto status = read_presets(*file, shown.string()); !status) {
      presets_read_ = false;
      return status;
    }
  }
  return {};
}

Status Loader::State::read_presets(const fs::path& file, const std::string& shown) {
  const auto text = read_file(file);
  if (!text) return text.error();
  const auto result = sandbox_.run(*text, shown);
  if (!result) return result.error();
  if (result->get_type() != sol::type::table)
    return Error{file.string(), "does not return a table of models",
                 "end it with: return { [\"my-model\"] = gpt{ ... } }"};
  for (const auto& [key, value] : result->as<sol::table>()) {
    if (key.get_type() == sol::type::string && value.get_type() == sol::type::function) {
      if (auto status = add_family(key.as<std::string>(), value, file); !status) return status;
      continue;
    }
    if (key.get_type() != sol::type::string || tag_of(value).kind != "model")
      return Error{file.string(), "an entry is not a named model",
                   "write [\"my-model\"] = gpt{ ... }, or my_family = function(t) return "
                   "transformer{ ... } end"};
    presets_[key.as<std::string>()] = value.as<sol::table>();
    preset_files_[key.as<std::string>()] = file;
  }
  return {};
}

// A family defined in Lua: name{ … } is the model that its function makes from the table.
Status Loader::State::add_family(const std::string& name, const sol::object& function,
                                 const fs::path& file) {
  auto globals = plain_globals(sandbox_);
  const bool is_word = !name.empty() && (std::isalpha(static_cast<unsigned char>(name[0])) != 0) &&
                       name.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                           "0123456789_") == std::string::npos;
  if (!is_word)
    return Error{file.string(),
                 fmt::format("a family called '{}' cannot be written in Lua", printable(name)),
                 "use letters, digits and '_', and start with a letter"};
  if (!families_.contains(name) && globals.raw_get<sol::object>(name).valid())
    return Error{file.string(),
                 fmt::format("'{}' is a function of experiments, so it cannot name a family", name),
                 "give it another name"};
  families_.insert(name);
  globals.raw_set(name, function);
  return {};
}

Result<sol::object> Loader::State::call_with_record(const sol::reference& function,
                                                    const plan::Lookup& lookup) {
  if (!exhausted_.empty()) return exhausted_;
  const auto* outer = std::exchange(lookup_, &lookup);
  auto result = sandbox_.call(function, record_);
  lookup_ = outer;
  if (!result && sandbox_.exhausted()) exhausted_ = result.error();
  return result;
}

}  // namespace orch::experiment
