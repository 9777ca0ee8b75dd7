#include "core/plan/slurm.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "core/plan/hardware/constants.h"

namespace orch::hardware {
namespace {

std::string read_word(std::string_view key, const YamlField& field) {
  const auto text = field.text();
  if (!text) return "";
  const auto status = plan::check_sbatch_word(key, *text, field.place());
  if (!status) field.add(status.error());
  return *text;
}

void read_environment(const YamlField& field, std::map<std::string, std::string>& out) {
  const Map map(field);
  for (const auto& [name, value] : map.entries()) {
    if (!plan::is_environment_name(name))
      value.problem("not a name for an environment variable",
                    "use letters, digits and '_', not starting with a digit");
    out[name] = value.verbatim().value_or("");
  }
}

void read_container(const YamlField& field, plan::Container& container) {
  const Map map(field, {"image", "runtime", "mounts", "workdir", "gpu"});
  const auto word = [&](const char* name, std::string& to) {
    if (const auto* held = map.find(name)) to = held->text().value_or("");
  };
  word("image", container.image);
  word("runtime", container.runtime);
  word("workdir", container.workdir);
  if (const auto* mounts = map.find("mounts")) container.mounts = mounts->texts();
  if (const auto* gpu = map.find("gpu")) {
    const auto text = gpu->text().value_or("");
    if (text != "true" && text != "false") gpu->problem("not true or false", "write gpu: true");
    container.gpu = text != "false";
  }
  field.add(plan::check_container(container, field.place()));
}

}  // namespace

void read_slurm(const YamlField& field, plan::SlurmSettings& slurm) {
  auto known = all_names(plan::kSlurmWords);
  known.insert(known.end(), {"cpus_per_gpu", "signal_seconds", "spare_nodes", "options",
                             "environment", "setup", "container"});
  const Map map(field, known);
  for (const auto& [key, at] : plan::kSlurmWords)
    if (const auto* word = map.find(key)) slurm.*at = read_word(key, *word);
  if (const auto* cpus = map.find("cpus_per_gpu"))
    slurm.cpus_per_gpu = cpus->integer(1, 1024).value_or(0);
  if (const auto* spare = map.find("spare_nodes")) slurm.spare_nodes = spare->integer(0, 1'000'000);
  if (const auto* options = map.find("options")) {
    slurm.options.clear();
    for (const auto& option : options->list().value_or(std::vector<YamlField>{}))
      slurm.options.push_back(read_word("options", option));
  }
  if (const auto* environment = map.find("environment"))
    read_environment(*environment, slurm.environment);
  // Shell code of the site, verbatim: anyone who can write this file can run commands anyway.
  if (const auto* setup = map.find("setup")) slurm.setup = setup->text().value_or("");
  if (const auto* container = map.find("container")) read_container(*container, slurm.container);
  const auto* signal = map.find("signal_seconds");
  if (signal) slurm.signal_seconds = signal->integer(1, 65535).value_or(0);  // sbatch's range
  if (const auto* given = signal ? signal : map.find("time")) {
    const auto limit = plan::parse_slurm_time(slurm.time);
    if (limit && static_cast<double>(slurm.signal_seconds) >= *limit)
      given->problem(fmt::format("{} s before the end is not within a time of {}",
                                 slurm.signal_seconds, slurm.time),
                     "make it shorter than time");
  }
}

}  // namespace orch::hardware
