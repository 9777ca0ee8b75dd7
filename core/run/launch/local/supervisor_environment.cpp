#include "core/run/launch/local/supervisor_environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/base/text.h"
#include "core/plan/slurm.h"
#include "core/run/launch/environment.h"
#include "core/run/launch/local/local_machine.h"

namespace orch::launch {
namespace {

using Environment = std::map<std::string, std::string>;

// Variables that are not passed on: a trainer that finds those of a job believes that srun started
// it. GPUs are assigned by us, not by a scheduler. Credentials for a cluster are not needed.
bool is_for_ranks(std::string_view name) {
  if (name == "SLURM_JWT") return false;
  return is_handed_on(name) || name == "GPU_DEVICE_ORDINAL" || name.ends_with("_VISIBLE_DEVICES");
}

Environment own_environment() {
  Environment all;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    const auto name = text.substr(0, equals);
    if (is_for_ranks(name)) all[std::string(name)] = text.substr(equals + 1);
  }
  return all;
}

std::string all_gpus(int count) {
  std::string list;
  for (int gpu = 0; gpu < count; ++gpu) list += (gpu ? "," : "") + std::to_string(gpu);
  return list;
}

}  // namespace

Environment machine_environment(std::int64_t ranks) {
  auto all = own_environment();
  const auto cores = usable_cores().size();
  const auto share = std::max<std::size_t>(1, cores / static_cast<std::size_t>(ranks));
  all["OMP_NUM_THREADS"] = std::to_string(share);
  if (const int gpus = gpu_count(); gpus > 0 && !all.count("CUDA_VISIBLE_DEVICES"))
    all["CUDA_VISIBLE_DEVICES"] = all_gpus(gpus);
  return all;
}

void meet_here(std::int64_t ranks, Environment& all) {
  all["WORLD_SIZE"] = std::to_string(ranks);
  all["MASTER_ADDR"] = "127.0.0.1";
  all["MASTER_PORT"] = std::to_string(free_port(static_cast<int>(::getpid())));
}

std::vector<RankCommand> spread(const RankCommand& command, std::int64_t count) {
  const auto cores = usable_cores();
  const auto ranks = static_cast<std::size_t>(count);
  const auto share = cores.size() / ranks;
  std::vector<RankCommand> commands(ranks, command);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    commands[rank].environment["RANK"] = std::to_string(rank);
    commands[rank].environment["LOCAL_RANK"] = std::to_string(rank);
    if (share == 0) continue;
    const auto first = cores.begin() + static_cast<std::ptrdiff_t>(rank * share);
    commands[rank].cores.assign(first, first + static_cast<std::ptrdiff_t>(share));
  }
  return commands;
}

Environment rank_environment(const LocalRun& local, const LocalAttempt& attempt,
                             const std::string& submission) {
  const auto& run = local.run;
  auto all = machine_environment(run.gpus);
  for (const char* name :
       {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING", "PYTHONUNBUFFERED"})
    all[name] = "1";
  for (const auto& [name, value] : run.job.environment)
    if (!run.job.expanded.contains(name)) all[name] = value;
  meet_here(run.tasks(run.gpus), all);
  all["ORCH_RUN_FOLDER"] = local.folder.string();
  all["ORCH_ATTEMPT_FOLDER"] = attempt.folder().string();
  all["ORCH_SUBMISSION"] = submission;
  all["ORCH_PHASE"] = "1";
  all["ORCH_PHASES"] = "1";
  all["ORCH_PHASE_FIRST_BATCH"] = std::to_string(local.first_batch());
  all["ORCH_PHASE_LAST_BATCH"] = std::to_string(run.batch.global_batch);
  all["ORCH_PHASE_SAMPLES"] = std::to_string(std::llround(run.samples()));
  all["ORCH_DATA_PARALLEL"] = std::to_string(run.layout.data_parallel);
  return all;
}

std::vector<std::string> trainer_words(const LocalRun& local, const fs::path& trainers) {
  if (local.run.framework.empty()) return {find_trainer(local.run, trainers).path.string()};
  return {"/bin/bash", (local.folder / kStart).string()};
}

// The words that start the trainer in the run's container, which sees its folder.
static std::vector<std::string> in_container(const LocalRun& local,
                                             const std::vector<std::string>& trainer) {
  const auto& container = local.run.job.container;
  if (!container.given()) return trainer;
  plan::ContainerFolders folders{{local.folder.string()}, local.folder.string()};
  if (local.run.framework.empty() && fs::path(trainer.front()).is_absolute())
    folders.own.push_back(fs::path(trainer.front()).parent_path().string());
  auto words = plan::container_words(container, folders, local.run.partition->gpu.name);
  words.insert(words.end(), trainer.begin(), trainer.end());
  return words;
}

std::vector<RankCommand> rank_commands(const LocalRun& local, const LocalAttempt& attempt,
                                       const std::string& submission,
                                       const std::vector<std::string>& trainer) {
  auto argv = in_container(local, trainer);
  argv.insert(argv.end(), {"--run", (local.folder / "run.json").string(), "--attempt",
                           attempt.folder().string()});
  // The site's shell code, as in a job script: modules and the like. It runs first; values are
  // expanded afterwards.
  const auto& job = local.run.job;
  auto setup = job.setup;
  for (const auto& [variable, name] : plan::needed_variables(job)) {
    const auto error = plan::unset_variable(variable, name, "in the job");
    setup += fmt::format("\n[ -v {} ] || {{ echo {}; exit 78; }}", variable,
                         shell_quote(fmt::format("orch: {}; {}", error.fact, error.fix)));
  }
  for (const auto& name : job.expanded)
    if (const auto held = job.environment.find(name); held != job.environment.end())
      setup += fmt::format("\nexport {}={}", name, plan::expansion(name, held->second));
  if (!setup.empty())
    argv.insert(argv.begin(), {"/bin/bash", "-c", setup + "\nexec \"$@\"", "orch-rank"});
  return spread({argv, rank_environment(local, attempt, submission), {}, local.folder},
                local.run.tasks(local.run.gpus));
}

}  // namespace orch::launch
