#include "core/run/render/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "core/base/text.h"
#include "core/plan/lua/library.h"
#include "core/plan/run_fields.h"
#include "core/plan/slurm.h"
#include "core/run/render/framework.h"

namespace orch::render {
namespace {

// Fills a new table that becomes a global. Plain Lua calls, because this runs for every script.
class LuaTable {
 public:
  LuaTable(lua_State* L, const char* name) : L_(L), name_(name) { lua_createtable(L_, 0, 16); }
  ~LuaTable() {
    lua::report_missing(L_, name_);
    lua_setglobal(L_, name_);
  }
  LuaTable(const LuaTable&) = delete;
  LuaTable& operator=(const LuaTable&) = delete;

  void set(const char* key, std::string_view text) {
    lua_pushlstring(L_, text.data(), text.size());
    lua_setfield(L_, -2, key);
  }
  void set(const char* key, std::int64_t number) {
    lua_pushinteger(L_, number);
    lua_setfield(L_, -2, key);
  }
  void set(const char* key, double number) {
    lua_pushnumber(L_, number);
    lua_setfield(L_, -2, key);
  }
  void set_value(const char* key, const plan::Value& value) {
    std::visit([&](const auto& held) { set_held(key, held); }, value);
  }
  void set(const char* key, const std::vector<std::string>& list) {
    lua_createtable(L_, static_cast<int>(list.size()), 0);
    for (std::size_t i = 0; i < list.size(); ++i) {
      lua_pushlstring(L_, list[i].data(), list[i].size());
      lua_rawseti(L_, -2, static_cast<lua_Integer>(i) + 1);
    }
    lua_setfield(L_, -2, key);
  }
  void set(const char* key, const std::map<std::string, std::string>& map) {
    lua_createtable(L_, 0, static_cast<int>(map.size()));
    for (const auto& [name, text] : map) {
      lua_pushlstring(L_, text.data(), text.size());
      lua_setfield(L_, -2, name.c_str());
    }
    lua_setfield(L_, -2, key);
  }

 private:
  void set_held(const char*, std::monostate) {}
  void set_held(const char* key, bool held) {
    lua_pushboolean(L_, held);
    lua_setfield(L_, -2, key);
  }
  void set_held(const char* key, const std::string& held) { set(key, std::string_view(held)); }
  void set_held(const char* key, const auto& held) { set(key, held); }

  lua_State* L_;
  const char* name_;
};

// For programs that count samples, not steps.
void set_samples(LuaTable& table, const plan::Run& run) {
  const auto& training = run.training;
  const auto decay = training.decay_steps > 0 ? training.decay_steps : run.total_steps();
  table.set("samples", run.samples_of(run.total_steps()));
  table.set("warmup_samples", run.samples_of(training.warmup_steps));
  table.set("decay_samples", run.samples_of(decay));
  const auto rampup = run.batch.rampup.value_or(plan::RampUp{});
  table.set("rampup_start", rampup.start);
  table.set("rampup_step", rampup.step);
  table.set("rampup_samples", rampup.samples);
}

// Sets the fields that run.json has in this section.
void set_fields(LuaTable& table, const plan::Run& run, std::string_view section) {
  for (const auto& field : plan::run_fields())
    if (field.section == section) table.set_value(field.param.name.c_str(), get(run, field));
}

void set_run(lua_State* L, const plan::Run& run) {
  LuaTable table(L, "run");
  set_fields(table, run, "");
  table.set("id", run.id);
  table.set("strategy", run.strategy->name);
  table.set("backend", run.strategy->backend);
  table.set("launch", run.launch.empty() ? "gpu" : run.launch);
  table.set("cluster", run.cluster->name);
  table.set("gpus_per_node", run.partition->gpus_per_node);
  table.set("total_steps", run.total_steps());
  table.set("args", run.args);
  set_samples(table, run);
}

void set_model(lua_State* L, const plan::Run& run) {
  LuaTable table(L, "model");
  set_fields(table, run, "model");
  table.set("family", run.model.family);
  table.set("params", run.model.params());
}

void set_training(lua_State* L, const plan::Training& training) {
  LuaTable table(L, "training");
  for (const auto& field : plan::training_fields())
    table.set_value(field.param.name.c_str(), get(training, field));
}

void set_settings(lua_State* L, const plan::Run& run) {
  LuaTable table(L, "settings");
  for (std::size_t i = 0; i < run.settings.size(); ++i)
    table.set_value(run.strategy->params[i].name.c_str(), run.settings[i]);
}

void set_phase(lua_State* L, const plan::Run& run, const PhaseContext& context) {
  const auto& phase = context.phase;
  const auto gpus = phase.data_parallel * run.layout.copy();
  LuaTable table(L, "phase");
  table.set("index", static_cast<std::int64_t>(context.index));
  table.set("count", static_cast<std::int64_t>(context.count));
  table.set("nodes", phase.nodes);
  table.set("gpus", gpus);
  table.set("tasks_per_node", std::min(gpus, run.partition->gpus_per_node));
  table.set("data_parallel", phase.data_parallel);
  table.set("first_batch", phase.first_batch);
  table.set("last_batch", phase.last_batch);
  table.set("samples", phase.samples);
}

using Environment = std::map<std::string, std::string>;

Environment plain_environment(const plan::SlurmSettings& job) {
  auto plain = job.environment;
  for (const auto& name : job.expanded) plain.erase(name);
  return plain;
}

// Variables whose $NAMES the node expands, quoted for the shell.
Environment expanding_words(const plan::SlurmSettings& job) {
  Environment words;
  for (const auto& name : job.expanded)
    if (const auto held = job.environment.find(name); held != job.environment.end())
      words[name] = plan::expansion(name, held->second);
  return words;
}

// For each variable that must be set, the message if it is not.
Environment complaints(const plan::SlurmSettings& job) {
  Environment out;
  for (const auto& [variable, name] : plan::needed_variables(job)) {
    const auto error = plan::unset_variable(variable, name, "in the job");
    out[variable] = error.fact + "; " + error.fix;
  }
  return out;
}

void set_job(lua_State* L, const plan::Run& run, const Context& context) {
  const auto& job = run.job;
  LuaTable table(L, "job");
  set_fields(table, run, "job");
  table.set("signal_seconds", plan::signal_seconds(job, context.step_seconds));
  table.set("spare_nodes", job.spare_nodes.value_or(0));
  table.set("options", job.options);
  table.set("environment", plain_environment(job));
  table.set("expanded", expanding_words(job));
  table.set("needed", complaints(job));
}

// Words with folders that only the job knows, quoted for its shell.
std::vector<std::string> container_shell(const std::vector<std::string>& words) {
  return mapped(words, [](const std::string& word) {
    return word.find('$') == std::string::npos ? shell_quote(word)
                                               : shell_expand(word).value_or(shell_quote(word));
  });
}

// The container: how srun, or a program before the trainer, starts it.
void set_container(lua_State* L, const plan::Run& run) {
  const auto& container = run.job.container;
  plan::ContainerFolders folders{{"$ORCH_RUN_FOLDER"}, "$ORCH_RUN_FOLDER"};
  if (run.framework.empty()) folders.own.emplace_back("$ORCH_PROGRAM_FOLDER");
  LuaTable table(L, "container");
  set_fields(table, run, "container");
  table.set("mounts", container.mounts);
  table.set("program", container.given() ? plan::container_program(container) : "");
  table.set("srun", container_shell(plan::srun_options(container, folders)));
  table.set("words",
            container_shell(plan::container_words(container, folders, run.partition->gpu.name)));
}

std::vector<std::string> shell_words(const std::vector<Word>& words) {
  std::vector<std::string> out;
  for (const auto& word : words) out.push_back(word.shell());
  return out;
}

// Every value is already quoted for the shell; variables that the run's job sets are left out.
void set_launch(lua_State* L, const plan::Run& run, const Launch& launch) {
  Environment environment;
  for (const auto& [name, word] : launch.environment)
    if (!run.job.environment.contains(name)) environment[name] = word.shell();
  std::string version;
  for (const auto& word : launch.version) version += " " + word.shell();
  LuaTable table(L, "launch");
  table.set("program", shell_words(launch.program));
  table.set("argv", shell_words(launch.argv));
  table.set("version", shell_words(launch.version));
  table.set("version_line", version);
  table.set("environment", environment);
  table.set("needs", launch.needs);
  table.set("stop_signal", launch.stop_signal);
  table.set("stop_file", launch.stop_file);
  table.set("package", launch.package);
  table.set("tested", launch.tested);
  // The word that installs it; templates of users have none.
  table.set("setup", launch.tested.empty() ? "" : plan::framework_name(run.framework).name);
}

void set_orch(lua_State* L, const Context& context) {
  LuaTable table(L, "orch");
  table.set("trainers", context.trainers);
  table.set("version", context.version);
}

}  // namespace

void set_values(sol::state& lua, const plan::Run& run, const PhaseContext& phase,
                const Context& context) {
  lua_State* L = lua.lua_state();
  set_run(L, run);
  set_model(L, run);
  set_settings(L, run);
  set_training(L, run.training);
  set_phase(L, run, phase);
  set_job(L, run, context);
  set_container(L, run);
  set_orch(L, context);
  if (context.launch) set_launch(L, run, *context.launch);
}

}  // namespace orch::render
