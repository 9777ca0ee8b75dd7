// A template is executed anew for every run: it returns a table with its versions and a function
// render(), which reads the run from globals and returns how to start it. Every access to the run's
// settings, training and model is recorded, and a value that differs from its default and was never
// read is refused: nothing that was asked for is silently dropped.
#include "core/run/render/framework.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/plan/defaults.h"
#include "core/plan/family.h"
#include "core/plan/lua/sandbox.h"
#include "core/plan/slurm.h"
#include "core/run/render/command_flags.h"
#include "core/run/render/framework_reader.h"
#include "core/run/render/values.h"

namespace orch::render {
namespace {

// Functions that templates share, to render and to read; not frameworks.
constexpr std::array<const char*, 3> kShared{"common", "megatron", "reading"};

bool is_shared(std::string_view name) { return contains(kShared, name); }

// __index of a watched table; upvalues: the table, its name, and the set of names that were read.
int watched_index(lua_State* L) {
  const char* table = lua_tostring(L, lua_upvalueindex(2));
  auto& seen = *static_cast<std::set<std::string>*>(lua_touserdata(L, lua_upvalueindex(3)));
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(1));
  if (lua_type(L, 2) != LUA_TSTRING) return 1;
  if (lua_isnil(L, -1) && std::string_view(table) != "settings")
    return luaL_error(L, "no such name '%s.%s'", table, lua_tostring(L, 2));
  [&]() noexcept { seen.insert(fmt::format("{}.{}", table, lua_tostring(L, 2))); }();
  return 1;
}

// The version of a package in pinned.txt: "deepspeed==0.19.8  # deepspeed hf-deepspeed".
std::string pinned_version(const fs::path& pins, const std::string& package) {
  const auto text = read_file(pins);
  if (!text || package.empty()) return {};
  for (const auto& line : split(*text, '\n'))
    if (line.starts_with(package + "=="))
      return std::string(trim(line.substr(0, line.find('#')).substr(package.size() + 2)));
  return {};
}

// Replaces a global table by an empty one, which forwards and records accesses.
void watch(lua_State* L, const char* name, std::set<std::string>& seen) {
  lua_newtable(L);
  lua_newtable(L);
  lua_getglobal(L, name);
  lua_pushstring(L, name);
  lua_pushlightuserdata(L, &seen);
  lua_pushcclosure(L, &watched_index, 3);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_setglobal(L, name);
}

std::string title(const std::string& field) { return field.substr(field.find('.') + 1); }

// The place where a template can read the same value: the layout, or steps as samples.
std::string same_as(const std::string& field) {
  if (field == "training.warmup_steps") return "run.warmup_samples";
  if (field == "training.decay_steps") return "run.decay_samples";
  return field.starts_with("settings.") ? "run." + title(field) : "";
}

// Refuses fields of the run that differ from their defaults and were not read.
void refuse_unread(const plan::Run& run, const std::set<std::string>& seen, Launch& launch) {
  const auto refuse = [&](const std::string& field, const plan::Value& value) {
    if (seen.contains(field) || seen.contains(same_as(field))) return;
    launch.refused.push_back(
        {title(field),
         fmt::format("the template of {} does not know it, and {} would be dropped",
                     plan::framework_name(run.framework).name, plan::show(value)),
         "leave it as by default, or teach the template"});
  };
  const auto stack = named_stack(run);
  for (std::size_t i = 0; i < run.settings.size(); ++i)
    if (const auto& param = run.strategy->params[i];
        run.settings[i] != default_setting(param, run, stack) &&
        param.name != "engine")  // used by the estimate alone
      refuse("settings." + param.name, run.settings[i]);
  for (const auto& field : plan::training_fields())
    if (const auto value = get(run.training, field); value != field.param.default_value)
      refuse("training." + field.param.name, value);
  for (const auto& size : family_of(run.model).sizes)
    if (is_unusual(run.model, size))
      refuse("model." + plan::param_of(size.field).name, get(run.model, size.field));
}

// A ramp-up on fewer nodes consists of several jobs, and no framework changes its ranks between
// them by itself.
void refuse_phases(const plan::Run& run, Launch& launch) {
  if (const auto jobs = plan::phases(run).size(); jobs > 1)
    launch.refused.push_back(
        {"batch.rampup.fewer_nodes",
         fmt::format("{} jobs on different numbers of nodes, and a framework trains in one", jobs),
         "set fewer_nodes = false, or train with orch's own trainer"});
}

// Normalises a flag as command-line parsers do: --learning_rate is --learning-rate.
std::string flag_of(std::string_view word) {
  std::string flag(word.substr(0, word.find('=')));
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

bool is_flag(std::string_view word) { return word.size() > 2 && word.starts_with("--"); }

// Flags that a field of the run determines, with the field's value.
using Flags = std::map<std::string, std::string>;

Flags rendered_flags(const std::vector<Word>& argv) {
  Flags flags;
  std::string* last = nullptr;
  for (const auto& word : argv) {
    if (is_flag(word.text) && !word.expands)
      last = &(flags[flag_of(word.text)] = word.text);
    else if (last)
      *last += " " + word.text;
  }
  return flags;
}

// Adds the user's arguments. One that sets a flag which a field determines is refused: it is
// undefined which of the two wins. Most parsers accept abbreviated flags, so those are refused too.
void add_args(const plan::Run& run, const Flags& fields, Launch& launch) {
  const auto flags = rendered_flags(launch.argv);
  Flags owned;
  for (const auto& [flag, field] : fields) owned[flag_of(flag)] = field;
  for (const auto& word : run.args) {
    if (is_flag(word)) {
      const auto flag = flag_of(word);
      const auto is_same = [&](const auto& known) {
        const bool is_section = known.first.ends_with('.');
        return is_section ? flag.starts_with(known.first) : known.first.starts_with(flag);
      };
      if (const auto found = std::find_if(flags.begin(), flags.end(), is_same);
          found != flags.end())
        launch.refused.push_back(
            {"args",
             fmt::format("'{}' is set already: {}", printable(word), printable(found->second)),
             "change the field that it follows from, or leave it out"});
      else if (const auto own = std::find_if(owned.begin(), owned.end(), is_same);
               own != owned.end())
        launch.refused.push_back(
            {"args", fmt::format("'{}' is for {} to say", printable(word), own->second),
             fmt::format("give {} in the experiment, and leave it out here", own->second)});
    }
    launch.argv.push_back({word, false});
  }
}

}  // namespace

std::string Word::shell() const {
  return expands ? shell_expand(text).value_or(shell_quote(text)) : shell_quote(text);
}

// One template, compiled.
class Frameworks::Engine {
 public:
  static Result<std::unique_ptr<Engine>> load(const fs::path& file, const fs::path& shipped);

  Result<About> about();
  Status choose(const std::string& framework, const std::string& place);  // for launch()
  Result<Launch> launch(const plan::Run& run);
  Result<std::vector<std::string>> programs();
  // Nothing if the command line is another template's.
  Result<std::optional<LaunchReading>> read(const plan::JobScript& job, const OpenNamedFile& open,
                                            const std::string& asked);

 private:
  Engine(fs::path file, fs::path pins) : file_(std::move(file)), pins_(std::move(pins)) {}
  void define_command(const plan::JobScript& job, const OpenNamedFile& open, CommandFlags& flags,
                      LaunchReading& to);

  Result<sol::table> run_template();
  void define_complaint(const char* name, std::vector<Error>& to);
  Status define_common(const fs::path& file);

  fs::path file_, pins_;
  lua::Sandbox sandbox_;
  sol::object chunk_;
  std::string chosen_;  // the framework whose version the template knows
  std::set<std::string> seen_;
  std::vector<Error> refused_, unequal_;
};

Result<std::unique_ptr<Frameworks::Engine>> Frameworks::Engine::load(const fs::path& file,
                                                                     const fs::path& shipped) {
  const auto text = read_file(file);
  if (!text) return text.error();
  auto engine = std::unique_ptr<Engine>(new Engine(file, shipped / "pinned.txt"));
  engine->define_complaint("refuse", engine->refused_);
  engine->define_complaint("unequal", engine->unequal_);
  for (const char* shared : kShared)
    if (auto status = engine->define_common(shipped / (std::string(shared) + ".lua")); !status)
      return status.error();
  auto chunk = engine->sandbox_.load(*text, file.string());
  if (!chunk) return chunk.error();
  engine->chunk_ = *chunk;
  return engine;
}

// Defines refuse(place, fact, fix) and unequal(place, fact, fix).
void Frameworks::Engine::define_complaint(const char* name, std::vector<Error>& to) {
  sandbox_.state()[name] = [&to, name](const sol::object& place, const sol::object& fact,
                                       const sol::object& fix) {
    const auto text = [&](const sol::object& part, bool required) -> std::string {
      if (part.get_type() == sol::type::string) return part.as<std::string>();
      if (required)
        throw std::runtime_error(fmt::format("{} takes strings: {}(place, fact, fix)", name, name));
      return {};
    };
    Error error{text(place, true), text(fact, true), text(fix, false)};
    if (std::find(to.begin(), to.end(), error) == to.end()) to.push_back(std::move(error));
  };
}

// The functions that templates share become globals.
Status Frameworks::Engine::define_common(const fs::path& file) {
  const auto text = read_file(file);
  if (!text) return text.error();
  const auto result = sandbox_.run(*text, file.string());
  if (!result) return result.error();
  if (result->get_type() != sol::type::table)
    return Error{file.string(), "does not return a table of functions",
                 "end it with: return { ... }"};
  for (const auto& [key, value] : result->as<sol::table>())
    if (key.get_type() == sol::type::string) sandbox_.state()[key.as<std::string>()] = value;
  return {};
}

Result<sol::table> Frameworks::Engine::run_template() {
  const auto result = sandbox_.call(chunk_);
  if (!result) return result.error();
  if (result->get_type() != sol::type::table ||
      result->as<sol::table>().raw_get<sol::object>("render").get_type() != sol::type::function)
    return Error{file_.string(), "does not return a table with a function render",
                 "end it with: return { versions = { ... }, render = function() ... end }"};
  return result->as<sol::table>();
}

Result<Frameworks::About> Frameworks::Engine::about() {
  const auto table = run_template();
  if (!table) return table.error();
  LaunchReader reader(file_);
  About about{reader.text(*table, "doc"),
              reader.texts(*table, "versions"),
              reader.text(*table, "package"),
              {},
              file_};
  about.tested = pinned_version(pins_, about.package);
  if (!reader.errors().empty()) return reader.errors();
  return about;
}

// The version in the form that the template lists: 0.12 for 0.12.1.
Status Frameworks::Engine::choose(const std::string& framework, const std::string& place) {
  if (framework == chosen_) return {};
  const auto [name, version] = plan::framework_name(framework);
  const auto facts = about();
  if (!facts) return facts.error();
  if (!version.empty() && !is_plain_name(version))
    return Error{place, fmt::format("'{}' is not a version", printable(version)),
                 "use letters, digits, '.', '_' and '-'"};
  auto values = sandbox_.state().create_table();
  values["name"] = name;
  values["version"] = version;
  values["place"] = 0;  // index in the list of versions
  auto list = sandbox_.state().create_table();
  for (std::size_t i = 0; i < facts->versions.size(); ++i) {
    const auto& known = facts->versions[i];
    list[i + 1] = known;
    if (version == known || version.starts_with(known + ".")) values["place"] = i + 1;
  }
  values["versions"] = list;
  sandbox_.state()["framework"] = values;
  if (facts->versions.empty() || values.get<std::size_t>("place") > 0) {
    chosen_ = framework;
    return {};
  }
  chosen_.clear();
  if (version.empty())
    return Error{place, fmt::format("'{}' names no version, and flags differ between them", name),
                 fmt::format("write \"{}@{}\"; one of: {}", name, facts->versions.back(),
                             join(facts->versions, ", "))};
  return Error{place, fmt::format("{} has no template for version '{}'", name, printable(version)),
               "one of: " + join(facts->versions, ", ")};
}

Result<Launch> Frameworks::Engine::launch(const plan::Run& run) {
  if (auto status = choose(run.framework, "framework"); !status) return status.error();
  seen_.clear();
  refused_.clear();
  unequal_.clear();
  set_values(sandbox_.state(), run, {plan::phases(run).back(), 1, 1}, {});
  lua_State* L = sandbox_.state().lua_state();
  for (const char* name : {"settings", "training", "model", "run"}) watch(L, name, seen_);
  const auto table = run_template();
  if (!table) return table.error();
  const auto made = sandbox_.call(table->raw_get<sol::object>("render"));
  if (!made) return made.error();
  LaunchReader reader(file_);
  auto launch = reader.read(*made);
  launch.package = reader.text(*table, "package");
  launch.tested = pinned_version(pins_, launch.package);
  if (!reader.errors().empty()) return reader.errors();
  launch.refused = refused_;
  launch.unequal = unequal_;
  refuse_unread(run, seen_, launch);
  refuse_phases(run, launch);
  add_args(run, reader.owned(), launch);
  return launch;
}

Result<std::vector<std::string>> Frameworks::Engine::programs() {
  const auto table = run_template();
  if (!table) return table.error();
  LaunchReader reader(file_);
  auto programs = reader.texts(*table, "programs");
  if (!reader.errors().empty()) return reader.errors();
  return programs;
}

// Defines the table `command`, by which a template reads a command line.
void Frameworks::Engine::define_command(const plan::JobScript& job, const OpenNamedFile& open,
                                        CommandFlags& flags, LaunchReading& to) {
  auto command = sandbox_.state().create_table();
  command["program"] = job.program;
  command["gpus"] = job.gpus;
  command["nodes"] = job.nodes;
  command["gpus_per_node"] = job.gpus_per_node;
  const auto problem = [&to](std::string place, std::string fact, std::string fix) {
    Error error{std::move(place), std::move(fact), std::move(fix)};
    if (!contains(to.problems, error)) to.problems.push_back(std::move(error));
  };
  // The last value of a flag; "" where it stands alone.
  command["text"] = [&flags](const std::string& name) -> std::optional<std::string> {
    const auto values = flags.values(name);
    if (!values) return std::nullopt;
    return values->empty() ? "" : values->back();
  };
  command["all"] = [&flags, this](const std::string& name) -> sol::object {
    const auto values = flags.values(name);
    if (!values) return sol::lua_nil;
    auto list = sandbox_.state().create_table();
    for (const auto& value : *values) list.add(value);
    return list;
  };
  command["number"] = [&flags, problem, this](const std::string& name) -> sol::object {
    const auto values = flags.values(name);
    if (!values) return sol::lua_nil;
    auto text = values->empty() ? std::string() : values->back();
    if (text == "auto" || text == "None") return sol::lua_nil;
    const auto shown = printable(text);
    std::erase(text, '_');
    const auto number = number_from<double>(text);
    if (!number) {
      const bool unset = shown.starts_with('$');
      problem(name,
              unset ? fmt::format("{} is not set in the script", shown)
                    : fmt::format("'{}' is not a number", shown),
              unset ? "give it: --var NAME=VALUE" : "");
      return sol::lua_nil;
    }
    const bool whole = *number == std::floor(*number) && std::abs(*number) < 0x1p53;
    return whole ? sol::make_object(sandbox_.state(), static_cast<std::int64_t>(*number))
                 : sol::make_object(sandbox_.state(), *number);
  };
  command["see"] = [&flags](const std::string& name) { return flags.has(name); };
  command["mark"] = [&flags](const std::string& name) { flags.mark(name); };
  command["variable"] = [&job](const std::string& name) -> std::optional<std::string> {
    const auto found = job.variables.find(name);
    return found == job.variables.end() ? std::nullopt : std::optional(found->second);
  };
  command["assume"] = [&to](const std::string& text) {
    if (!contains(to.assumed, text)) to.assumed.push_back(text);
  };
  command["invalid"] = problem;
  // Adds the settings of a file; false if it cannot be read.
  command["open"] = [&flags, &open, problem](const std::string& name, const std::string& prefix) {
    const auto text = open(name);
    const auto settings = text ? flat_settings(name, *text) : Result<FlatSettings>(text.error());
    if (!settings) {
      for (const auto& error : settings.error()) problem(error.place, error.fact, error.fix);
      return false;
    }
    flags.add_settings(*settings, prefix);
    return true;
  };
  sandbox_.state()["command"] = command;
}

Result<std::optional<LaunchReading>> Frameworks::Engine::read(const plan::JobScript& job,
                                                              const OpenNamedFile& open,
                                                              const std::string& asked) {
  const auto table = run_template();
  if (!table) return table.error();
  const auto reader = table->raw_get<sol::object>("read");
  if (reader.get_type() != sol::type::function) return std::optional<LaunchReading>();
  CommandFlags flags;
  flags.add_words(job.launcher, "launcher:");
  flags.add_words(job.arguments);
  LaunchReading reading;
  define_command(job, open, flags, reading);
  sandbox_.state()["command"]["asked"] = asked;
  sandbox_.state()["command"]["asked_name"] = plan::framework_name(asked).name;
  const auto made = sandbox_.call(reader);
  if (!made) return made.error();
  if (made->get_type() != sol::type::table) return std::optional<LaunchReading>();
  LaunchReader fields(file_);
  fields.read_back(made->as<sol::table>(), reading);
  if (!fields.errors().empty()) return fields.errors();
  reading.ignored = flags.ignored();
  reading.without_effect = flags.marked();
  return std::optional(std::move(reading));
}

Frameworks::Frameworks(std::vector<fs::path> folders) : folders_(std::move(folders)) {}
Frameworks::Frameworks(Frameworks&&) noexcept = default;
Frameworks& Frameworks::operator=(Frameworks&&) noexcept = default;
Frameworks::~Frameworks() = default;

std::vector<std::string> Frameworks::names() const {
  std::set<std::string> names;
  for (const auto& folder : folders_)
    for (const auto& file : entries_of(folder))
      if (file.extension() == ".lua" && !is_shared(file.stem().string()))
        names.insert(file.stem().string());
  return {names.begin(), names.end()};
}

Result<Frameworks::Engine*> Frameworks::engine(const std::string& name) {
  if (const auto found = engines_.find(name); found != engines_.end()) return found->second.get();
  for (const auto& folder : folders_) {
    const auto file = folder / (name + ".lua");
    // A name from an experiment must not lead out of the folder.
    if (!is_plain_name(name) || is_shared(name) || !is_there(file)) continue;
    auto engine = Engine::load(file, folders_.back());
    if (!engine) return engine.error();
    return (engines_[name] = std::move(*engine)).get();
  }
  return Error{"framework", fmt::format("no framework '{}'", printable(name)),
               suggestion(name, names())};
}

Result<Frameworks::About> Frameworks::about(const std::string& name) {
  const auto found = engine(name);
  if (!found) return found.error();
  return (*found)->about();
}

Status Frameworks::check(const std::string& framework, const std::string& place) {
  const auto found = engine(plan::framework_name(framework).name);
  if (found) return (*found)->choose(framework, place);
  auto errors = found.error();
  for (auto& error : errors)
    if (error.place == "framework") error.place = place;
  return errors;
}

Result<Launch> Frameworks::launch(const plan::Run& run) {
  const auto found = engine(plan::framework_name(run.framework).name);
  if (!found) return found.error();
  return (*found)->launch(run);
}

std::vector<std::string> Frameworks::programs() {
  std::set<std::string> all;
  for (const auto& name : names()) {
    const auto found = engine(name);
    const auto programs = found ? (*found)->programs() : found.error();
    if (programs) all.insert(programs->begin(), programs->end());
  }
  return {all.begin(), all.end()};
}

Result<LaunchReading> Frameworks::read(const plan::JobScript& job, const OpenNamedFile& open,
                                       const std::string& asked) {
  for (const auto& name : names()) {
    const auto found = engine(name);
    if (!found) return found.error();
    const auto programs = (*found)->programs();
    if (!programs) return programs.error();
    if (!contains(*programs, job.program)) continue;
    const auto reading = (*found)->read(job, open, asked);
    if (!reading) return reading.error();
    if (*reading) return **reading;
  }
  return Error{job.program, "no template reads its arguments", "orch backends frameworks"};
}

}  // namespace orch::render
