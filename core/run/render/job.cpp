#include "core/run/render/job.h"

#include <fmt/format.h>

#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/plan/slurm.h"

namespace orch::render {
namespace {

void check_words(const plan::SlurmSettings& job, Errors& errors) {
  for (const auto& [field, at] : plan::kSlurmWords)
    errors.add(plan::check_sbatch_word(field, job.*at, fmt::format("job.{}", field)));
  for (std::size_t i = 0; i < job.options.size(); ++i)
    errors.add(
        plan::check_sbatch_word("options", job.options[i], fmt::format("job.options[{}]", i + 1)));
}

void check_environment(const plan::SlurmSettings& job, Errors& errors) {
  for (const auto& [name, value] : job.environment) {
    const auto place = fmt::format("job.environment.{}", printable(name));
    errors.add(plan::check_environment_name(name, place));
    if (value.find('\0') != std::string::npos)
      errors.push_back({place, "holds a NUL character", "remove it"});
  }
}

void check_names(const plan::Run& run, const Context& context, Errors& errors) {
  const auto check = [&](const char* place, const std::string& text) {
    if (!is_plain_name(text))
      errors.push_back({place, fmt::format("'{}' cannot stand on an #SBATCH line", printable(text)),
                        "use letters, digits, '.', '_' and '-', at most 100 of them"});
  };
  check("run.id", run.id);
  check("orch.version", context.version);
}

void write_list(JsonWriter& to, const char* key, const std::vector<Word>& words) {
  to.begin_list(key);
  for (const auto& word : words) to.item(word.text);
  to.end_list();
}

std::string launch_json(const Launch& launch, const plan::Run& run) {
  JsonWriter to;
  to.begin().field("version", std::int64_t{1}).field("framework", run.framework);
  write_list(to, "program", launch.program);
  write_list(to, "argv", launch.argv);
  to.begin("environment");
  for (const auto& [name, word] : launch.environment) to.field(name, word.text);
  to.end().begin_list("unequal");
  for (const auto& error : launch.unequal) to.item(error.place + ": " + error.fact);
  return std::move(to.end_list().end()).text();
}

std::string script_name(std::size_t index) {
  return index == 1 ? "job.sbatch" : fmt::format("job-{}.sbatch", index);
}

}  // namespace

fs::path template_for(const fs::path& folder, const std::string& cluster, const std::string& like) {
  for (const auto& name : {cluster, like}) {
    // A cluster's name comes from a user's file: it must not lead out of the folder.
    const auto own = folder / (name + ".sbatch");
    if (is_plain_name(name) && is_there(own)) return own;
  }
  return folder / "default.sbatch";
}

Result<std::vector<DraftContent>> render_job(Template& source, const plan::Run& run,
                                             const Context& context) {
  Errors errors;
  check_words(run.job, errors);
  check_environment(run.job, errors);
  check_names(run, context, errors);
  if (!errors.empty()) return errors;

  const auto phases = plan::phases(run);
  std::vector<DraftContent> scripts;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    auto text = source.render(run, {phases[i], i + 1, phases.size()}, context);
    if (!text) return text.error();
    if (!run.framework.empty() && text->find("$folder/start") == std::string::npos)
      return Error{"framework", "the job template of this cluster starts only the trainers of orch",
                   "copy find_trainer and train from templates/slurm/default.sbatch"};
    scripts.push_back({script_name(i + 1), std::move(*text)});
  }
  return scripts;
}

Result<std::vector<DraftContent>> launch_files(Template& start_template, const Launch& launch,
                                               const plan::Run& run, Context context) {
  context.launch = &launch;
  auto start = start_template.render(run, {plan::phases(run).back(), 1, 1}, context);
  if (!start) return start.error();
  auto files = launch.files;
  files.push_back({"start", std::move(*start)});
  files.push_back({"launch.json", launch_json(launch, run)});
  return files;
}

Result<std::vector<DraftContent>> Renderer::render(const plan::Run& run, const Context& context) {
  const auto& cluster = run.cluster->name;
  auto found = compiled_.find(cluster);
  if (found == compiled_.end()) {
    auto compiled = Template::load(template_for(templates_, cluster, run.cluster->like));
    if (!compiled) return compiled.error();
    found = compiled_.emplace(cluster, std::move(*compiled)).first;
  }
  return render_job(found->second, run, context);
}

}  // namespace orch::render
