#include <fmt/format.h>

#include "core/base/text.h"
#include "core/plan/experiment/reader.h"
#include "core/plan/slurm.h"

namespace orch::experiment {
namespace {

constexpr const char* kEnvironment = "environment = { NAME = \"value\" }";
constexpr const char* kOwn = "orch";  // our own trainer, named explicitly

}  // namespace

void ExperimentReader::read_environment(const sol::object& value, const std::string& place,
                                        plan::SlurmSettings& job) {
  if (!has_table(value, place, kEnvironment)) return;
  for (const auto& [name, held] : fields_of(value.as<sol::table>(), place, kEnvironment, errors_)) {
    const auto field_place = place + "." + printable(name);
    if (!errors_.add(plan::check_environment_name(name, place))) continue;
    const bool expands = tag_of(held).kind == "expand";
    const auto plain = to_value(expands ? held.as<sol::table>().raw_get<sol::object>(1) : held);
    if (!plain || std::holds_alternative<bool>(*plain)) {
      error(field_place, fmt::format("{} is not a string", type_name(held)), "write it in quotes");
      continue;
    }
    const auto text = plan::plain(*plain);
    errors_.add(plan::check_environment_value(name, text, expands, field_place));
    job.environment[name] = text;
    if (expands) job.expanded.insert(name);
  }
}

// Reads shell code, verbatim: it is meant to run in a shell.
void ExperimentReader::read_setup(const sol::object& value, const std::string& place,
                                  plan::SlurmSettings& job) {
  if (!value.valid()) return;
  if (value.get_type() != sol::type::string ||
      value.as<std::string>().find('\0') != std::string::npos)
    return error(place, fmt::format("{} is not lines for a shell", type_name(value)),
                 "write setup = \"module load cuda\"");
  job.setup = value.as<std::string>();
}

// container = { image = "…", runtime = "apptainer", mounts = { "/data" }, workdir = "…", gpu = true
// }
void ExperimentReader::read_container(const sol::object& value, const std::string& place,
                                      plan::SlurmSettings& job) {
  if (!value.valid()) return;
  plan::Container container;
  const auto word = [this](const char* name, std::string& to) {
    return [this, name, &to](auto& held, auto& at) { read_word(name, held, at, to); };
  };
  const auto mounts = [&](const sol::object& held, const std::string& at) {
    constexpr const char* example = "mounts = { \"/data\", \"/here:/there\" }";
    if (!is_table(held, at, example)) return;
    const auto keys = keys_of(held.as<sol::table>(), at, errors_);
    if (!keys.fields.empty())
      error(at, "mounts cannot have names", fmt::format("write {}", example));
    for (const auto& item : keys.items)
      read_word("mounts", item, at, container.mounts.emplace_back(), "/here:/there");
  };
  const auto before = errors_.size();
  const bool read = read_named(
      value, place, "container = { image = \"/images/torch.sif\", runtime = \"apptainer\" }",
      {{"image", word("image", container.image), true},
       {"runtime", word("runtime", container.runtime), true},
       {"workdir", word("workdir", container.workdir)},
       {"gpu", [&](auto& held, auto& at) { container.gpu = flag("gpu", held, at); }},
       {"mounts", mounts}});
  if (!read || errors_.size() > before) return;
  for (auto& wrong : plan::check_container(container, place))
    error(std::move(wrong.place), std::move(wrong.fact), std::move(wrong.fix));
  job.container = std::move(container);
}

void ExperimentReader::read_args(const sol::object& value, const std::string& place,
                                 plan::AskedStrategy& to) {
  constexpr const char* example = "args = { \"--name\", \"value\" }";
  if (!has_table(value, place, example)) return;
  const auto keys = keys_of(value.as<sol::table>(), place, errors_);
  if (!keys.fields.empty())
    error(place + "." + printable(keys.fields.front().first), "arguments cannot have names",
          fmt::format("write {}", example));
  for (std::size_t i = 0; i < keys.items.size(); ++i) {
    const auto word_place = fmt::format("{}[{}]", place, i + 1);
    const auto plain = to_value(keys.items[i]);
    if (!plain || !plan::is_given(*plain) || std::holds_alternative<bool>(*plain)) {
      error(word_place, fmt::format("{} is not a string or a number", type_name(keys.items[i])),
            "write it in quotes");
      continue;
    }
    to.args.push_back(plan::plain(*plain));
    const auto& word = to.args.back();
    if (word.find('\0') != std::string::npos) error(word_place, "has a NUL byte", "remove it");
    const bool named =
        word.starts_with('-') && plan::is_secret_name(word.substr(0, word.find('=')));
    if (named || plan::holds_password(word))
      error(word_place,
            fmt::format(
                "{} looks like a secret, and would be stored in every run folder",
                named ? printable(word.substr(0, word.find('='))) : "an address with a password"),
            "give it in a variable: environment = { NAME = expand \"$NAME\" }");
  }
}

void ExperimentReader::read_framework(const sol::table& table, plan::AskedStrategy& to) {
  const auto get = [&](const char* name) { return table.raw_get<sol::object>(name); };
  read_word("framework", get("framework"), to.place + ".framework", to.framework,
            "megatron-lm@0.12");
  read_word("launch", get("launch"), to.place + ".launch", to.launch, "node");
  if (to.framework == kOwn) to.framework.clear();
  read_args(get("args"), to.place + ".args", to);
  read_environment(get("environment"), to.place + ".environment", to.job);
  read_setup(get("setup"), to.place + ".setup", to.job);
  read_container(get("container"), to.place + ".container", to.job);
  if (!to.launch.empty() && to.launch != "gpu" && to.launch != "node")
    error(to.place + ".launch", fmt::format("no choice '{}'", printable(to.launch)),
          "one of: gpu, node");
  for (const char* name : {"launch", "args"})
    if (to.framework.empty() && get(name).valid())
      error(
          fmt::format("{}.{}", to.place, name), "it needs a framework, and none is named",
          "write framework = \"megatron-lm@0.12\" beside it; orch backends frameworks lists them");
}

}  // namespace orch::experiment
