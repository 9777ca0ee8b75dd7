#include "core/app/priced_script.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/plan/lua_fields.h"
#include "core/plan/slurm.h"
#include "core/plan/training.h"

namespace orch::app {
namespace {

using Fields = render::LaunchReading::Fields;
using plan::LuaFields, plan::lua_literal, plan::lua_string;

// The order of the first fields of a table; the others follow by name.
const std::vector<std::string> kOrder{
    "layers",       "hidden",     "heads", "vocab", "seq", "tensor_parallel", "pipeline_parallel",
    "global_batch", "micro_batch"};

struct SizeName {
  const char* name;
  const char* words;
};
constexpr SizeName kSizes[] = {{"layers", "the number of layers"},
                               {"hidden", "the hidden size"},
                               {"heads", "the number of attention heads"},
                               {"vocab", "the size of the vocabulary"},
                               {"seq", "the sequence length"}};

// True if --set gives the field, or the table that it is in.
bool is_set(const PriceArguments& arguments, const std::string& path) {
  return std::ranges::any_of(arguments.set, [&](const std::string& change) {
    const auto name = change.substr(0, change.find('='));
    return name == path || path.starts_with(name + ".");
  });
}

// A strategy may have a field of the batch too.
bool is_set_somewhere(const PriceArguments& arguments, const std::string& field) {
  return is_set(arguments, "batch." + field) ||
         std::ranges::any_of(arguments.set, [&](const std::string& change) {
           return change.starts_with("strategies.") &&
                  change.find("." + field + "=") < change.size();
         });
}

void add_fields(const Fields& fields, LuaFields& to) {
  for (const auto& name : kOrder)
    if (const auto found = fields.find(name); found != fields.end())
      to.add(name, lua_literal(found->second));
  for (const auto& [name, value] : fields)
    if (!contains(kOrder, name)) to.add(name, lua_literal(value));
}

// --- the machine ---

struct MachineMatch {
  std::string name;  // "jean-zay/a100-80g"
  int score = 0;     // by the words for SLURM
  bool gpu = false;  // the same GPU, by its name in --gres
};

// How well a partition's words for SLURM agree with the script's; 0: they do not.
int agreement(const plan::SlurmSettings& known, const plan::SlurmSettings& asked) {
  int score = 0;
  for (const auto at : {&plan::SlurmSettings::partition, &plan::SlurmSettings::constraint}) {
    if ((asked.*at).empty()) continue;
    if (known.*at == asked.*at)
      score += at == &plan::SlurmSettings::partition ? 2 : 1;
    else if (at == &plan::SlurmSettings::partition || !(known.*at).empty())
      return 0;
  }
  return score;
}

std::vector<MachineMatch> machines(App& app, const plan::JobScript& job) {
  std::vector<MachineMatch> out;
  for (const auto& name : app.clusters().names()) {
    const auto cluster = app.clusters().find(name);
    if (!cluster) continue;
    for (const auto& partition : (*cluster)->partitions)
      out.push_back({name + "/" + partition.name, agreement(partition.slurm, job.slurm),
                     !job.gpu.empty() && partition.gpu.name.starts_with(job.gpu)});
  }
  return out;
}

std::string one_of(const std::vector<MachineMatch>& all, bool by_gpu) {
  std::vector<std::string> names;
  for (const auto& each : all)
    if (!by_gpu || each.gpu) names.push_back(each.name);
  return first_of(names, 12);
}

// The machine of --on, or the one that the script's words for SLURM, or its GPU, tell.
void find_machine(App& app, const PriceArguments& arguments, PricedScript& to, Errors& errors) {
  if (!arguments.on.empty()) {
    to.machine = arguments.on;
    return;
  }
  if (is_set(arguments, "hardware.cluster")) return;
  const auto all = machines(app, to.job);
  const auto best = std::ranges::max_element(all, {}, &MachineMatch::score);
  if (best != all.end() && best->score > 0 &&
      std::ranges::count(all, best->score, &MachineMatch::score) == 1) {
    to.machine = best->name;
    to.assumed.push_back(fmt::format("{} by the words for SLURM (--on names another)", best->name));
    return;
  }
  const auto gpus = std::ranges::count(all, true, &MachineMatch::gpu);
  if (gpus == 1) {
    to.machine = std::ranges::find(all, true, &MachineMatch::gpu)->name;
    to.assumed.push_back(fmt::format("{} by the GPU (--on names another)", to.machine));
    return;
  }
  errors.push_back(
      {to.name, "it does not tell on which machine it trains",
       fmt::format("--on CLUSTER/PARTITION{}: {}", gpus > 0 ? ", for " + printable(to.job.gpu) : "",
                   one_of(all, gpus > 0))});
}

std::string hardware_lua(const PricedScript& script) {
  LuaFields fields;
  const auto slash = script.machine.find('/');
  fields.word("cluster", script.machine.substr(0, slash));
  if (slash != std::string::npos) fields.word("partition", script.machine.substr(slash + 1));
  fields.number("gpus", script.job.gpus);
  for (const auto& word : plan::kSlurmWords) {
    const auto& value = script.job.slurm.*word.at;
    if (value.empty() || word.name == "partition" || word.name == "constraint") continue;
    if (word.name == "time" && !plan::parse_slurm_time(value)) continue;
    if (plan::check_sbatch_word(word.name, value, "")) fields.word(word.name, value);
  }
  return fields.text();
}

// --- the model ---

// "meta-llama/Llama-2-7b-hf" is llama-2-7b of the presets.
std::string preset_name(std::string_view name) {
  auto out = lower(name.substr(name.rfind('/') + 1));
  if (out.starts_with("meta-")) out.erase(0, 5);
  for (const std::string_view end : {"-hf", "-instruct", "-base", "-chat", "-v0.1", "-v0.3"})
    if (out.ends_with(end)) out.resize(out.size() - end.size());
  return out == "bloom-7b1" ? "bloom-7b" : out == "bloom" ? "bloom-176b" : out;
}

// The model as Lua. A preset has all sizes, but the sequence length is the script's.
std::string model_lua(App& app, const PriceArguments& arguments, const PricedScript& script,
                      Errors& errors) {
  const auto& reading = script.reading;
  if (!reading.preset.empty()) {
    const auto name = preset_name(reading.preset);
    const auto presets = app.loader().presets();
    const bool known = presets && std::ranges::any_of(*presets, [&](const auto& model) {
                         return model.name == name;
                       });
    if (known) {
      LuaFields fields;
      add_fields(reading.model, fields);
      return fields.empty() ? lua_string(name)
                            : fmt::format("preset({}, {})", lua_string(name), fields.text());
    }
    if (!is_set(arguments, "model"))
      errors.push_back({script.name,
                        fmt::format("the sizes of '{}' are not in it", printable(reading.preset)),
                        "--set model=NAME with one of orch models, or --set model.layers=… and the "
                        "other sizes"});
  }
  for (const auto& size : kSizes)
    if (!reading.model.contains(size.name) && reading.preset.empty() &&
        !is_set(arguments, fmt::format("model.{}", size.name)))
      errors.push_back({script.name, fmt::format("{} is not in it", size.words),
                        fmt::format("--set model.{}=…", size.name)});
  LuaFields fields;
  add_fields(reading.model, fields);
  return fmt::format("{} {}", reading.family.empty() ? "gpt" : reading.family, fields.text());
}

// --- the rest ---

// Settings that differ from their defaults and that the strategy has.
Fields unusual_settings(const App& app, const PricedScript& script) {
  Fields out;
  const auto& reading = script.reading;
  const auto strategies = app.backends().strategies();
  const auto found = std::ranges::find_if(
      strategies, [&](const auto& each) { return each->name == reading.strategy; });
  for (const auto& [name, value] : reading.settings) {
    const int index = found == strategies.end() ? -1 : (*found)->index(name);
    if (index < 0 && (value == plan::Value(false) || value == plan::Value(std::int64_t{1}) ||
                      value == plan::Value(std::string("none"))))
      continue;
    if (index >= 0 && name != "flash_attention" && name != "engine" &&
        (*found)->params[static_cast<std::size_t>(index)].default_value == value)
      continue;
    out[name] = value;
  }
  return out;
}

std::string training_lua(const Fields& training) {
  LuaFields fields;
  for (const auto& field : plan::training_fields()) {
    const auto found = training.find(field.param.name);
    if (found == training.end()) continue;
    const auto number = plan::number(found->second),
               usual = plan::number(field.param.default_value);
    const bool same =
        number && usual ? *number == *usual : found->second == field.param.default_value;
    if (!same) fields.add(field.param.name, lua_literal(found->second));
  }
  return fields.text();
}

std::string list_lua(const std::vector<std::string>& words) {
  return "{ " + join(mapped(words, [](const auto& word) { return lua_string(word); }), ", ") + " }";
}

std::string strategy_lua(const App& app, const PricedScript& script) {
  LuaFields fields;
  add_fields(unusual_settings(app, script), fields);
  fields.word("framework", script.reading.framework);
  if (!script.reading.framework.empty() && !script.reading.args.empty())
    fields.add("args", list_lua(script.reading.args));
  return fmt::format("{{ {} {} }}", script.reading.strategy, fields.text());
}

std::string batch_lua(const render::LaunchReading& reading) {
  LuaFields fields;
  add_fields(reading.batch, fields);
  if (!reading.rampup.empty()) {
    LuaFields rampup;
    add_fields(reading.rampup, rampup);
    fields.add("rampup", rampup.text());
  }
  return fields.text();
}

std::string plain_name(const std::string& script) {
  const auto stem = fs::path(script).stem().string();
  return script != "-" && is_plain_name(stem) ? stem : "price";
}

void ask_for_the_rest(const PriceArguments& arguments, const PricedScript& script, Errors& errors) {
  const auto ask = [&](bool there, const char* what, const char* how) {
    if (!there) errors.push_back({script.name, fmt::format("{} is not in it", what), how});
  };
  const auto& reading = script.reading;
  ask(script.job.gpus > 0 || is_set(arguments, "hardware.nodes"), "the number of GPUs", "--gpus N");
  ask(reading.batch.contains("micro_batch") || is_set_somewhere(arguments, "micro_batch"),
      "the micro-batch", "--set batch.micro_batch=…");
  ask(reading.batch.contains("global_batch") || is_set_somewhere(arguments, "global_batch"),
      "the global batch", "--set batch.global_batch=…");
  ask(reading.tokens > 0 || is_set(arguments, "tokens"), "the number of tokens or steps",
      "--set tokens=300e9");
}

Result<std::string> script_text(const std::string& file) {
  const fs::path path = file == "-" ? "/dev/stdin" : file;
  constexpr std::size_t kLargest = std::size_t{1} << 20;
  auto text = read_file(path, kLargest);
  if (text && trim(*text).empty())
    return Error{file == "-" ? "<stdin>" : printable(file), "it is empty",
                 "give a job script or a launch line"};
  return text;
}

// The file of that name that the script writes, or one beside it.
render::OpenNamedFile opener(const fs::path& script, const plan::JobScript& job) {
  return [folder = script.parent_path(), &job](const std::string& name) -> Result<std::string> {
    const auto wanted = fs::path(name).lexically_normal();
    for (const auto& [file, text] : job.files)
      if (fs::path(file).lexically_normal() == wanted) return text;
    constexpr std::size_t kLargest = std::size_t{1} << 20;
    auto text = read_file(wanted.is_absolute() ? wanted : folder / wanted, kLargest);
    if (text) return text;
    return Error{printable(name), "the script names this file, and it is not at hand",
                 "put it beside the script, or give what is in it by --set"};
  };
}

Result<std::map<std::string, std::string>> given_variables(const PriceArguments& arguments) {
  std::map<std::string, std::string> out;
  for (const auto& text : arguments.variables) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || !plan::is_environment_name(text.substr(0, equals)))
      return Error{"--var " + printable(text), "it is not NAME=VALUE", "as in --var NNODES=4"};
    out[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return out;
}

void set_gpus(const PriceArguments& arguments, plan::JobScript& job) {
  std::int64_t gpus = arguments.gpus;
  constexpr std::string_view kPath = "hardware.gpus=";
  for (const auto& change : arguments.set)
    if (change.starts_with(kPath))
      gpus = number_from<std::int64_t>(change.substr(kPath.size())).value_or(gpus);
  if (gpus > 0) job.gpus = gpus;
}

// Flags that were not understood are part of the error: one may be the missing one, misspelt.
void name_ignored(const PricedScript& script, Errors& errors) {
  if (errors.empty() || script.reading.ignored.empty()) return;
  errors.push_back(
      {script.name,
       fmt::format("{} not understood: {}", plural(script.reading.ignored.size(), "flag"),
                   join(script.reading.ignored, ", ")),
       ""});
}

}  // namespace

std::string PricedScript::lua(const App& app) const {
  std::string out = fmt::format("-- Read from {}, line {}, by orch price.\nreturn experiment {{\n",
                                name, job.line);
  const auto line = [&](const char* field, const std::string& text) {
    out += fmt::format("  {} = {},\n", field, text);
  };
  line("name", lua_string(experiment));
  line("model", model);
  line("hardware", hardware_lua(*this));
  line("batch", batch_lua(reading));
  if (reading.tokens > 0) line("tokens", fmt::format("{}", reading.tokens));
  if (const auto training = training_lua(reading.training); training != "{}")
    line("training", training);
  line("strategies", strategy_lua(app, *this));
  return out + "}\n";
}

void PricedScript::forget_framework(const App& app) {
  reading.framework.clear();
  source.text = lua(app);
}

Result<PricedScript> read_script(App& app, const PriceArguments& arguments) {
  PricedScript out;
  out.name = arguments.script == "-" ? "<stdin>" : printable(arguments.script);
  const auto text = script_text(arguments.script);
  if (!text) return text.error();
  const auto variables = given_variables(arguments);
  if (!variables) return variables.error();
  const fs::path file = arguments.script == "-" ? fs::path("price") : fs::path(arguments.script);
  app.look_beside(file);
  auto job = plan::read_job_script(out.name, *text, app.frameworks().programs(), *variables);
  if (!job) return job.error();
  out.job = std::move(*job);
  set_gpus(arguments, out.job);
  auto reading = app.frameworks().read(out.job, opener(file, out.job), arguments.framework);
  if (!reading) return reading.error();
  out.reading = std::move(*reading);
  out.framework = out.reading.framework;
  Errors errors = out.reading.problems;
  find_machine(app, arguments, out, errors);
  out.model = model_lua(app, arguments, out, errors);
  ask_for_the_rest(arguments, out, errors);
  name_ignored(out, errors);
  if (!errors.empty()) return errors;
  out.assumed.insert(out.assumed.end(), out.reading.assumed.begin(), out.reading.assumed.end());
  out.source =
      experiment::ExperimentSource(fs::path(file).replace_extension(".lua"), arguments.set);
  out.experiment = plain_name(arguments.script);
  out.source.text = out.lua(app);
  return out;
}

}  // namespace orch::app
