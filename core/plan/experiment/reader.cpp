#include "core/plan/experiment/reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/plan/setting.h"
#include "core/plan/slurm.h"

namespace orch::experiment {
namespace {

using plan::FieldSection;

const std::vector<std::string> kTop{
    "name",     "doc",         "model", "hardware", "batch", "strategies",   "budget",
    "tokens",   "constraints", "steps", "strict",   "start", "availability", "search",
    "training", "trainer",     "stack", "repeats",  "expect"};

const std::vector<std::string> kRampUp{"start", "step", "samples", "fewer_nodes", "phases"};
const std::vector<std::string> kBudget{"gpu_hours", "money",         "energy_kwh",   "co2_kg",
                                       "deadline",  "deadline_days", "reserve_nodes"};
// SLURM options of an experiment; the partition belongs to the hardware.
const std::vector<std::string> kJob{"account", "qos",  "reservation", "constraint",
                                    "time",    "hint", "gres"};

// Fields of every strategy: the trainer and its environment (framework_reader.cpp).
const std::vector<std::string> kFramework{"framework",   "launch", "args",
                                          "environment", "setup",  "container"};

constexpr double kMostSamples = 1e12;
constexpr double kMostRepeats = 1000;

}  // namespace

ExperimentReader::ExperimentReader(Loader::State& state, std::string file)
    : state_(state), file_(std::move(file)), spaces_(state, errors_, file_) {
  out_.file = file_;
}

Result<plan::Experiment> ExperimentReader::read(const sol::object& returned) {
  const auto kind = tag_of(returned).kind;
  if (returned.get_type() != sol::type::table || (!kind.empty() && kind != "experiment"))
    return Error{file_, fmt::format("returns {} instead of an experiment", type_name(returned)),
                 "end the file with: return experiment{ ... }"};
  read_top(returned.as<sol::table>());
  for (auto& error : errors_) error.place = in_file(file_, error.place);
  if (!errors_.empty()) return errors_;
  return std::move(out_);
}

void ExperimentReader::read_top(const sol::table& top) {
  for (const auto& [name, value] : fields_of(top, "experiment", "name = value", errors_))
    if (!contains(kTop, name)) error(printable(name), "no such field", advice(name));

  const auto get = [&](const char* name) { return top.raw_get<sol::object>(name); };
  read_name(get("name"));
  if (const auto doc = get("doc"); doc.valid()) {
    if (doc.get_type() == sol::type::string)
      out_.doc = doc.as<std::string>();
    else
      error("doc", fmt::format("{} is not a string", type_name(doc)), "write doc = \"...\"");
  }
  if (const auto strict = get("strict"); strict.valid())
    out_.strict = flag("strict", strict, "strict");
  read_trainer(get("trainer"), get("stack"));
  read_calendar(get("start"), get("availability"));
  if (const auto repeats = get("repeats"); repeats.valid())
    out_.repeats = whole(repeats, "repeats", 1, kMostRepeats);
  read_models(get("model"));
  read_hardware(get("hardware"));
  read_batch(get("batch"));
  auto amounts = state_.sandbox().state().create_table();
  for (const char* name : {"tokens", "steps"})
    if (const auto value = get(name); value.valid()) amounts[name] = value;
  auto space = spaces_.read(amounts, {{FieldSection::top}, nullptr, {}}, "");
  std::move(space.axes.begin(), space.axes.end(), std::back_inserter(out_.batch.axes));
  std::move(space.derived.begin(), space.derived.end(), std::back_inserter(out_.batch.derived));
  read_strategies(get("strategies"));
  read_training(get("training"));
  read_budget(get("budget"));
  read_expect(get("expect"));
  read_constraints(get("constraints"));
  read_search(get("search"));
}

// The advice for a field that stands at the top but belongs into a section.
std::string ExperimentReader::advice(const std::string& name) const {
  if (const auto advice = section_advice(name); !advice.empty()) return advice;
  const std::pair<const char*, std::vector<std::string>> sections[] = {
      {"hardware", kJob},
      {"batch.rampup", kRampUp},
      {"budget", kBudget},
      {"training", plan::training_names()}};
  for (const auto& [section, names] : sections)
    if (contains(names, name)) return fmt::format("it belongs in {} = {{ ... }}", section);
  for (const auto& strategy : state_.strategies())
    if (strategy->index(name) >= 0)
      return fmt::format("it belongs in a strategy: strategies = {{ {}{{ {} = ... }} }}",
                         strategy->name, name);
  return suggestion(name, kTop);
}

void ExperimentReader::read_name(const sol::object& value) {
  if (!value.valid()) {
    out_.name = fs::path(file_).stem().string();
    if (!is_plain_name(out_.name)) error("name", "missing", "write name = \"my-experiment\"");
    return;
  }
  const auto name = value.get_type() == sol::type::string ? value.as<std::string>() : "";
  if (name.starts_with("index.jsonl") || name.starts_with("index.sqlite") || name == "index.lock")
    error("name", fmt::format("{} is reserved for a file of orch", shown(value)),
          "use another name");
  else if (name.size() > kLongestName)
    error("name",
          fmt::format("{} characters are too long for a name of folders and jobs", name.size()),
          fmt::format("use at most {}", kLongestName));
  else if (!is_plain_name(name))
    error("name", fmt::format("{} cannot be a name of folders and jobs", shown(value)),
          "use letters, digits, '.', '_' and '-', and start with a letter or digit");
  out_.name = name;
}

void ExperimentReader::read_word(const char* name, const sol::object& value,
                                 const std::string& place, std::string& to, const char* example) {
  if (!value.valid()) return;
  if (value.get_type() == sol::type::string && !value.as<std::string>().empty())
    to = value.as<std::string>();
  else
    error(place, fmt::format("{} is not a string", shown(value)),
          fmt::format("write {} = \"{}\"", name, example));
}

void ExperimentReader::read_trainer(const sol::object& trainer, const sol::object& stack) {
  read_word("trainer", trainer, "trainer", out_.trainer);
  read_word("stack", stack, "stack", out_.stack);
  const auto& program = out_.trainer;
  if (program.find('/') != std::string::npos && !fs::path(program).is_absolute())
    error(
        "trainer",
        fmt::format("'{}' is a relative path, and jobs run in another folder", printable(program)),
        "write the absolute path, or the name of a program on PATH");
  if (program.find_first_of(std::string_view("\0\n", 2)) != std::string::npos)
    error("trainer", "holds a line break or a NUL character", "rename the program");
}

bool ExperimentReader::is_table(const sol::object& value, const std::string& place,
                                const std::string& example) {
  if (value.get_type() == sol::type::table && tag_of(value).kind.empty()) return true;
  error(place, value.valid() ? fmt::format("{} is not a table", type_name(value)) : "missing",
        "write " + example);
  return false;
}

void ExperimentReader::read_hardware(const sol::object& value) {
  if (!is_table(value, "hardware", "hardware = { cluster = \"jean-zay\", gpus = 384 }")) return;
  auto others = kJob;
  others.insert(others.end(), {"container", "environment", "options", "setup", "spare_nodes"});
  const auto table = value.as<sol::table>();
  out_.hardware = spaces_.read(table, {{FieldSection::hardware}, nullptr, others}, "hardware");
  for (const auto& name : kJob)
    if (const auto given = table.raw_get<sol::object>(name); given.valid())
      out_.job.*std::ranges::find(plan::kSlurmWords, name, &plan::SlurmWord::name)->at =
          read_job_word(name, given);
  if (const auto spare = table.raw_get<sol::object>("spare_nodes"); spare.valid())
    out_.job.spare_nodes = whole(spare, "hardware.spare_nodes", 0, kMostNodes);
  read_environment(table.raw_get<sol::object>("environment"), "hardware.environment", out_.job);
  read_setup(table.raw_get<sol::object>("setup"), "hardware.setup", out_.job);
  read_container(table.raw_get<sol::object>("container"), "hardware.container", out_.job);
  read_options(table.raw_get<sol::object>("options"), "hardware.options");
}

std::string ExperimentReader::read_job_word(std::string_view name, const sol::object& value) {
  const auto place = fmt::format("hardware.{}", name);
  if (value.get_type() != sol::type::string) {
    error(place, fmt::format("{} is not a string", type_name(value)), "write it in quotes");
    return "";
  }
  const auto text = value.as<std::string>();
  errors_.add(plan::check_sbatch_word(name, text, place));
  return text;
}

void ExperimentReader::read_options(const sol::object& value, const std::string& place) {
  if (!has_table(value, place, "options = { \"--exclusive\" }")) return;
  const auto keys = keys_of(value.as<sol::table>(), place, errors_);
  for (const auto& [name, held] : keys.fields)
    error(place + "." + printable(name), "options cannot have names",
          "write \"--name=value\" in a list");
  for (std::size_t i = 0; i < keys.items.size(); ++i) {
    const auto& item = keys.items[i];
    const auto item_place = fmt::format("{}[{}]", place, i + 1);
    if (item.get_type() != sol::type::string) {
      error(item_place, fmt::format("{} is not an option of sbatch", shown(item)),
            "write it as \"--name\" or \"--name=value\"");
      continue;
    }
    const auto text = item.as<std::string>();
    errors_.add(plan::check_sbatch_word("options", text, item_place));
    out_.job.options.push_back(text);
  }
}

void ExperimentReader::read_batch(const sol::object& value) {
  if (!has_table(value, "batch", "batch = { global_batch = 2048 }")) return;
  const auto table = value.as<sol::table>();
  out_.batch = spaces_.read(table, {{FieldSection::batch}, nullptr, {"rampup"}}, "batch");
  read_rampup(table.raw_get<sol::object>("rampup"), "batch.rampup");
}

void ExperimentReader::read_rampup(const sol::object& value, const std::string& place) {
  const std::string example = "rampup = { start = 192, step = 16, samples = 9765625 }";
  plan::RampUp rampup;
  const auto samples = [&](std::int64_t& to) {
    return [this, &to](auto& held, auto& at) { to = whole(held, at, 1, kMostSamples); };
  };
  bool cut = false;  // true if phases are given
  if (!read_named(
          value, place, example,
          {{"start", samples(rampup.start), true},
           {"step", samples(rampup.step), true},
           {"samples", samples(rampup.samples), true},
           {"fewer_nodes",
            [&](auto& held, auto& at) { rampup.fewer_nodes = flag("fewer_nodes", held, at); }},
           {"phases", [&](auto& held, auto& at) {
              rampup.phases = whole(held, at, 1, 100);
              cut = true;
            }}}))
    return;
  if (rampup.phases > 1 && !rampup.fewer_nodes && cut)
    error(place + ".phases",
          fmt::format("{} phases, but all of them on the same nodes", rampup.phases),
          "set fewer_nodes = true to begin on fewer nodes, or leave phases out");
  out_.rampup = rampup;
}

void ExperimentReader::read_strategies(const sol::object& value) {
  if (tag_of(value).kind == "strategy") return read_strategy(value, "strategies");
  if (!is_table(value, "strategies", "strategies = { megatron{ ... }, fsdp{ ... } }")) return;
  const auto keys = keys_of(value.as<sol::table>(), "strategies", errors_);
  if (!keys.fields.empty())
    error("strategies." + printable(keys.fields.front().first), "strategies cannot have names",
          "write a list: { megatron{ ... }, fsdp{ ... } }");
  if (keys.items.empty() && keys.fields.empty())
    error("strategies", "an empty list leaves nothing to run", "orch backends lists what there is");
  for (std::size_t i = 0; i < keys.items.size(); ++i)
    read_strategy(keys.items[i], fmt::format("strategies[{}]", i + 1));
}

void ExperimentReader::read_strategy(const sol::object& value, const std::string& place) {
  const auto tag = tag_of(value);
  std::vector<std::string> names;
  plan::StrategyPtr strategy;
  for (const auto& candidate : state_.strategies()) {
    names.push_back(candidate->name);
    if (tag.kind == "strategy" && candidate->name == tag.name) strategy = candidate;
  }
  if (!strategy)
    return error(place, fmt::format("{} is not a strategy", type_name(value)),
                 "write name{ ... } with one of: " + join(names, ", "));
  const auto full_place = fmt::format("{}: {}", tag.place, place + "." + tag.name);
  auto others = kFramework;
  others.emplace_back("stack");
  auto space =
      spaces_.read(value.as<sol::table>(),
                   {{FieldSection::batch, FieldSection::hardware}, strategy, others}, full_place);
  for (const auto& param : strategy->params)
    if (!plan::is_given(param.default_value) && !mentions(value.as<sol::table>(), param.name))
      error(full_place, fmt::format("{} must be given", param.name), param.doc);
  plan::AskedStrategy asked{strategy, std::move(space), full_place, {}, {}, {}, {}, {}};
  read_word("stack", value.as<sol::table>().raw_get<sol::object>("stack"), full_place + ".stack",
            asked.stack);
  read_framework(value.as<sol::table>(), asked);
  out_.strategies.push_back(std::move(asked));
}

bool ExperimentReader::read_named(const sol::object& value, const std::string& place,
                                  const std::string& example, const std::vector<Named>& known) {
  if (!has_table(value, place, example)) return false;
  const auto table = value.as<sol::table>();
  const auto names = all_names(known);
  for (const auto& [name, held] : fields_of(table, place, example, errors_)) {
    const auto at = place + "." + printable(name);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      error(at, "no such field", suggestion(name, names));
    else
      known[static_cast<std::size_t>(found - names.begin())].read(held, at);
  }
  for (const auto& field : known)
    if (field.required && !table.raw_get<sol::object>(field.name).valid())
      error(place + "." + field.name, "missing", "write " + example);
  return true;
}

double ExperimentReader::positive(const sol::object& value, const std::string& place) {
  const auto number = plan::number(to_value(value).value_or(plan::Value()));
  if (number && *number > 0 && *number < 1e18) return *number;
  error(place, fmt::format("{} is not a positive number", shown(value)),
        "give a number above 0 and below 1e18");
  return 0;
}

bool ExperimentReader::flag(const char* name, const sol::object& value, const std::string& place) {
  if (value.get_type() == sol::type::boolean) return value.as<bool>();
  error(place, fmt::format("{} is not true or false", shown(value)),
        fmt::format("write {} = true", name));
  return false;
}

std::int64_t ExperimentReader::whole(const sol::object& value, const std::string& place, double min,
                                     double max) {
  const plan::Param param = plan::Integer{"", "", {}, {min, max}};
  const auto plain = to_value(value);
  if (!plain || !plan::is_given(*plain)) {
    error(place, fmt::format("{} is not an integer", type_name(value)),
          "write a number without quotes");
    return 0;
  }
  const auto conformed = plan::conform(param, *plain, place);
  return errors_.add(conformed) ? std::get<std::int64_t>(*conformed) : 0;
}

void ExperimentReader::read_constraints(const sol::object& value) {
  if (!has_table(value, "constraints", "constraints = { [\"name\"] = function(r) ... end }"))
    return;
  const auto keys = keys_of(value.as<sol::table>(), "constraints", errors_);
  if (!keys.items.empty())
    error("constraints[1]", "a constraint without a name",
          "write [\"why it matters\"] = function(r) return ... end");
  for (const auto& [name, held] : keys.fields) {
    const auto place = fmt::format("constraints['{}']", lua::shown(name));
    if (held.get_type() != sol::type::function) {
      error(place, fmt::format("{} is not a function", type_name(held)),
            "write function(r) return ... end");
      continue;
    }
    const sol::reference function = held;
    out_.constraints.push_back({lua::shown(name),
                                [state = &state_, function, place = in_file(file_, place)](
                                    const plan::Lookup& lookup) -> Result<std::string> {
                                  const auto result = state->call_with_record(function, lookup);
                                  if (!result) return result.error();
                                  const auto answer = to_value(*result).value_or(plan::Value());
                                  if (const auto* ok = std::get_if<bool>(&answer))
                                    return *ok ? std::string() : std::string("does not hold");
                                  if (const auto* why = std::get_if<std::string>(&answer))
                                    return lua::shown(*why);
                                  return Error{place,
                                               fmt::format("returned {}", type_name(*result)),
                                               "return true, false, or a string that says why not"};
                                }});
  }
}

}  // namespace orch::experiment
