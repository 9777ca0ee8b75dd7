#include "core/run/render/framework_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/text.h"
#include "core/plan/slurm.h"

namespace orch::render {
namespace {

const std::vector<std::string> kFields{"program", "argv", "environment", "needs", "files",
                                       "copies",  "owns", "version",     "stop"};
constexpr std::array<std::string_view, 12> kOurs{
    "run.json", "estimate.json", "provenance.json", "state.json",  "launch.json", "start",
    "stop",     "exclude",       "attempts",        "checkpoints", "lock",        "wanted"};

using lua::type_name;

}  // namespace

void LaunchReader::error(const std::string& place, std::string fact, std::string fix) {
  errors_.push_back(
      {fmt::format("{}: {}", file_.string(), place), std::move(fact), std::move(fix)});
}

std::string LaunchReader::text(const sol::table& table, const char* name) {
  const auto held = table.raw_get<sol::object>(name);
  if (held.get_type() == sol::type::string) return held.as<std::string>();
  if (held.valid())
    error(name, fmt::format("{} is not a string", type_name(held)), "write it in quotes");
  return {};
}

std::vector<std::string> LaunchReader::texts(const sol::table& table, const char* name) {
  std::vector<std::string> out;
  for (const auto& word : words(table, name)) out.push_back(word.text);
  return out;
}

// A string, a number, or expand "...".
Word LaunchReader::word(const sol::object& held, const std::string& place) {
  if (held.get_type() == sol::type::string || held.get_type() == sol::type::number) {
    held.push();
    std::size_t size = 0;
    const char* start = luaL_tolstring(held.lua_state(), -1, &size);
    Word out{std::string(start, size), false};
    lua_pop(held.lua_state(), 2);
    if (out.text.find('\0') != std::string::npos) error(place, "has a NUL byte", "remove it");
    return out;
  }
  if (held.get_type() == sol::type::table) {
    const auto expands = held.as<sol::table>().raw_get<sol::object>("expand");
    if (expands.get_type() == sol::type::string && shell_expand(expands.as<std::string>()))
      return {expands.as<std::string>(), true};
  }
  error(place, fmt::format("{} is not a string or a number", type_name(held)),
        "give a string, a number, or expand \"$NAME/...\"");
  return {};
}

// Nothing if it is missing or not a table.
std::optional<sol::table> LaunchReader::inner(const sol::table& table, const char* name,
                                              const char* what, const char* fix) {
  const auto held = table.raw_get<sol::object>(name);
  if (held.get_type() == sol::type::table) return held.as<sol::table>();
  if (held.valid()) error(name, fmt::format("{} is not a {}", type_name(held), what), fix);
  return std::nullopt;
}

std::vector<Word> LaunchReader::words(const sol::table& table, const char* name) {
  std::vector<Word> out;
  if (const auto list = inner(table, name, "list", "write { \"...\", \"...\" }"))
    for (std::size_t i = 1; i <= list->size(); ++i)
      out.push_back(word(list->raw_get<sol::object>(i), fmt::format("{}[{}]", name, i)));
  return out;
}

std::map<std::string, Word> LaunchReader::named_words(const sol::table& table, const char* name) {
  std::map<std::string, Word> out;
  const auto held = inner(table, name, "table", "write { name = \"...\" }");
  if (!held) return out;
  for (const auto& [key, value] : *held) {
    if (key.get_type() != sol::type::string)
      error(name, "an entry has no name", "write { name = \"...\" }");
    else
      out[key.as<std::string>()] = word(value, fmt::format("{}.{}", name, key.as<std::string>()));
  }
  return out;
}

void LaunchReader::add_file(const std::string& name, std::string text, const std::string& place,
                            Launch& launch) {
  const bool ours =
      std::find(kOurs.begin(), kOurs.end(), name) != kOurs.end() || name.ends_with(".sbatch");
  if (ours || !is_plain_name(name))
    return error(place,
                 fmt::format("'{}' cannot be a file of its own in a run's folder", printable(name)),
                 "give it another name: letters, digits, '.', '_' and '-'");
  launch.files.push_back({name, std::move(text)});
}

// Reads files whose content the template returns, or that are copied from beside it.
void LaunchReader::read_files(const sol::table& table, Launch& launch) {
  for (const auto& [name, text] : named_words(table, "files"))
    add_file(name, text.text, "files", launch);
  for (const auto& name : texts(table, "copies")) {
    if (!is_plain_name(name)) {
      error("copies", fmt::format("'{}': not found beside the template", printable(name)),
            "give a file beside the template");
      continue;
    }
    auto text = read_file(file_.parent_path() / name);
    if (errors_.add(text)) add_file(name, std::move(*text), "copies", launch);
  }
}

// stop = { signal = "TERM" } or { file = "kill-switch" }.
void LaunchReader::read_stop(const sol::table& table, Launch& launch) {
  const auto stop = named_words(table, "stop");
  for (const auto& [name, held] : stop) {
    if (name == "signal" && (held.text == "TERM" || held.text == "USR1"))
      launch.stop_signal = held.text;
    else if (name == "file" && is_plain_name(held.text))
      launch.stop_file = held.text;
    else
      error("stop." + name,
            fmt::format("'{}' is not a way to tell a program to save and stop", held.text),
            "write stop = { signal = \"TERM\" } or stop = { file = \"kill-switch\" }");
  }
}

void LaunchReader::read_values(const sol::table& table, const char* name,
                               LaunchReading::Fields& to) {
  const auto held = inner(table, name, "table", "write { name = value }");
  if (!held) return;
  for (const auto& [key, value] : *held) {
    const auto type = value.get_type();
    if (key.get_type() != sol::type::string)
      error(name, "an entry has no name", "write { name = value }");
    else if (type == sol::type::boolean)
      to[key.as<std::string>()] = value.as<bool>();
    else if (type == sol::type::string)
      to[key.as<std::string>()] = value.as<std::string>();
    else if (type == sol::type::number && value.is<std::int64_t>())
      to[key.as<std::string>()] = value.as<std::int64_t>();
    else if (type == sol::type::number)
      to[key.as<std::string>()] = value.as<double>();
    else
      error(fmt::format("{}.{}", name, key.as<std::string>()),
            fmt::format("{} is not a value", type_name(value)), "give a string or a number");
  }
}

void LaunchReader::read_back(const sol::table& table, LaunchReading& to) {
  to.framework = text(table, "framework");
  to.strategy = text(table, "strategy");
  to.family = text(table, "family");
  to.preset = text(table, "preset");
  to.args = texts(table, "args");
  read_values(table, "model", to.model);
  read_values(table, "batch", to.batch);
  read_values(table, "rampup", to.rampup);
  read_values(table, "settings", to.settings);
  read_values(table, "training", to.training);
  if (const auto tokens = table.raw_get<sol::object>("tokens");
      tokens.get_type() == sol::type::number)
    to.tokens = tokens.as<double>();
}

Launch LaunchReader::read(const sol::object& made) {
  Launch launch;
  if (made.get_type() != sol::type::table) {
    error("render", fmt::format("returned {}", type_name(made)), "return { argv = { ... } }");
    return launch;
  }
  const auto table = made.as<sol::table>();
  for (const auto& [key, value] : table) {
    const auto name = key.get_type() == sol::type::string ? key.as<std::string>() : std::string();
    if (std::find(kFields.begin(), kFields.end(), name) == kFields.end())
      error("render",
            fmt::format("returned '{}', which is not a field of a launch", printable(name)),
            suggestion(name, kFields));
  }
  launch.program = words(table, "program");
  if (launch.program.empty()) launch.program = {{"python3", false}, {"-u", false}};
  launch.argv = words(table, "argv");
  if (launch.argv.empty()) error("argv", "is empty", "name the program's script and its arguments");
  launch.version = words(table, "version");
  launch.environment = named_words(table, "environment");
  for (const auto& [name, held] : launch.environment)
    errors_.add(plan::check_environment_name(name, file_.string() + ": environment"));
  for (const auto& [name, doc] : named_words(table, "needs")) {
    errors_.add(plan::check_environment_name(name, file_.string() + ": needs"));
    launch.needs[name] = doc.text;
  }
  for (const auto& [name, field] : named_words(table, "owns")) owned_[name] = field.text;
  read_files(table, launch);
  read_stop(table, launch);
  return launch;
}

}  // namespace orch::render
