#include "core/run/launch/local/local_run.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/base/text.h"
#include "core/plan/run_json.h"
#include "core/plan/slurm.h"
#include "core/run/launch/local/local_machine.h"

namespace orch::launch {
namespace {

constexpr std::int64_t kMostRanks = 1024;  // per machine; more means a damaged file

void check_files(const LocalRun& local, const std::string& place, Errors& errors) {
  const auto& training = local.run.training;
  const auto data = local.run.resolve(training.data, local.folder.string());
  for (const char* ending : {".idx", ".bin"})
    if (!data.empty() && !is_there(data + ending))
      errors.push_back({place, fmt::format("no such file: {}{}", printable(data), ending),
                        "name the prefix of both in training.data; empty: synthetic tokens"});
  const auto init = local.run.resolve(training.init, local.folder.string());
  if (!init.empty() && !is_there(init))
    errors.push_back({place, fmt::format("no such checkpoint: {}", printable(init)),
                      "name another in training.init; empty: random weights"});
}

}  // namespace

Result<LocalRun> read_local_run(const fs::path& run_folder) {
  const auto file = run_folder / "run.json";
  auto run = plan::read_run(file);
  if (!run) return run.error();
  LocalRun local{run_folder, std::move(*run), std::nullopt};
  const auto place = printable(file.string());
  if (local.run.gpus > kMostRanks)
    return Error{place, fmt::format("{} ranks on one machine", local.run.gpus),
                 fmt::format("a local run has 1 to {}", kMostRanks)};
  const auto& time = local.run.job.time;
  if (!time.empty()) local.time_limit = plan::parse_slurm_time(time);
  if (!time.empty() && !local.time_limit)
    return Error{place, fmt::format("job.time '{}' is not a time", printable(time)),
                 "write HH:MM:SS or minutes"};
  return local;
}

Trainer find_trainer(const plan::Run& run, const fs::path& trainers) {
  Trainer trainer;
  const auto own = "orch-train-" + run.strategy->backend;
  trainer.wanted = run.trainer.empty() ? (trainers / own).string() : run.trainer;
  trainer.path = find_program(trainer.wanted);
  if (trainer.path.empty() && run.trainer.empty()) trainer.path = find_program(own);
  return trainer;
}

// True for variables that each rank gets, whatever starts it.
static bool is_of_rank(const std::string& variable) {
  return variable.starts_with("ORCH_") || variable.starts_with("MASTER_") || variable == "RANK" ||
         variable == "LOCAL_RANK" || variable == "WORLD_SIZE";
}

Errors check_local_run(const LocalRun& local, const fs::path& trainers) {
  Errors errors;
  const auto& [folder, run, time_limit] = local;
  const auto place = folder.filename().string();
  if (!run.framework.empty()) {
    if (!is_there(folder / kStart))
      errors.push_back({place, fmt::format("{} cannot start: no file {}", run.framework, kStart),
                        "plan the experiment again"});
  } else if (const auto trainer = find_trainer(run, trainers);
             trainer.path.empty() && !run.job.container.given())
    errors.push_back({place, fmt::format("no such program: {}", printable(trainer.wanted)),
                      "plan with another: trainer = ... in the experiment, or ORCH_TRAINER"});
  check_files(local, place, errors);
  if (const auto& container = run.job.container; container.runtime == "pyxis")
    errors.push_back({place, "pyxis is a plug-in of SLURM's srun, and this run is local",
                      "name another runtime"});
  else if (container.given())
    for (auto& error : plan::find_container(container, !run.job.setup.empty(), place))
      errors.push_back(std::move(error));
  if (run.job.setup.empty())
    for (const auto& [variable, name] : plan::needed_variables(run.job))
      if (!is_of_rank(variable) && !std::getenv(variable.c_str()))
        errors.push_back(plan::unset_variable(variable, name, "here"));
  if (time_limit && static_cast<double>(run.job.signal_seconds) >= *time_limit)
    errors.push_back({place,
                      fmt::format("job.time is {:.0f} s, but signal_seconds {}: it would be "
                                  "told to stop before it began",
                                  *time_limit, run.job.signal_seconds),
                      "make job.time longer or signal_seconds shorter"});
  const auto own = run.job.environment.find("CUDA_VISIBLE_DEVICES");
  const auto gpus = visible_gpus(own == run.job.environment.end() ? nullptr : &own->second);
  const bool takes_gpus = !run.partition || run.partition->gpu.name != "cpu";
  if (takes_gpus && gpus > 0 && run.gpus > gpus)
    errors.push_back({place, fmt::format("{} ranks, but {} GPUs are visible", run.gpus, gpus),
                      "use fewer gpus, or plan for a partition whose gpu is cpu"});
  return errors;
}

}  // namespace orch::launch
