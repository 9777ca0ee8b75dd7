#include "core/launch/local_run.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "core/launch/local_machine.h"

namespace orch::launch {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMostRanks = 1024;  // of one machine; more is a damaged file

void read_batch(const Json& json, LocalRun& run) {
  run.last_batch = json.at("global_batch").get<std::int64_t>();
  run.first_batch = run.last_batch;
  if (const auto& rampup = json.at("rampup"); !rampup.is_null())
    run.first_batch = rampup.at("start").get<std::int64_t>();
  const auto seq = json.at("model").at("seq").get<double>();
  const auto samples = json.at("tokens").get<double>() / seq;
  run.samples = samples > 0 && samples < 9e18 ? std::llround(samples) : 0;
}

Status read_job(const Json& json, const ParseTime& parse_time, const std::string& place,
                LocalRun& run) {
  run.signal_seconds = json.at("signal_seconds").get<double>();
  run.environment = json.at("environment").get<std::map<std::string, std::string>>();
  run.setup = json.at("setup").get<std::string>();
  const auto time = json.at("time").get<std::string>();
  if (time.empty()) return {};
  run.time_limit = parse_time ? parse_time(time) : std::nullopt;
  if (!run.time_limit)
    return Error{place, fmt::format("job.time '{}' is not a time", printable(time)),
                 "write HH:MM:SS or minutes"};
  return {};
}

}  // namespace

Result<LocalRun> read_local_run(const fs::path& run_folder, const ParseTime& parse_time) {
  const auto file = run_folder / "run.json";
  const auto place = printable(file.string());
  const auto text = read_file(file);
  if (!text) return text.error();
  LocalRun run;
  run.folder = run_folder;
  run.id = run_folder.filename().string();
  try {
    const auto json = Json::parse(*text);
    run.backend = json.at("backend").get<std::string>();
    run.ranks = json.at("gpus").get<std::int64_t>();
    run.data_parallel = json.at("data_parallel").get<std::int64_t>();
    read_batch(json, run);
    if (const auto training = json.find("training"); training != json.end()) {
      run.data = training->value("data", "");
      run.init = training->value("init", "");
    }
    if (auto status = read_job(json.at("job"), parse_time, place, run); !status)
      return status.error();
  } catch (const Json::exception& error) {
    return Error{place, printable(error.what()), "plan the experiment again"};
  }
  if (run.ranks < 1 || run.ranks > kMostRanks)
    return Error{place, fmt::format("{} ranks on one machine", run.ranks),
                 fmt::format("a local run has 1 to {}", kMostRanks)};
  if (!is_plain_name(run.backend))
    return Error{place, fmt::format("'{}' is no backend's name", printable(run.backend)),
                 "plan the experiment again"};
  return run;
}

Trainer find_trainer(const LocalRun& run, const fs::path& trainers) {
  Trainer trainer;
  trainer.wanted = (trainers / ("orch-train-" + run.backend)).string();
  if (const char* own = std::getenv("ORCH_TRAINER"); own && *own) trainer.wanted = own;
  if (const auto given = run.environment.find("ORCH_TRAINER");
      given != run.environment.end() && !given->second.empty())
    trainer.wanted = given->second;
  trainer.path = find_program(trainer.wanted);
  return trainer;
}

namespace {

void check_files(const LocalRun& run, Errors& errors) {
  std::error_code code;
  for (const char* ending : {".idx", ".bin"})
    if (!run.data.empty() && !fs::exists(run.data + ending, code))
      errors.push_back({run.id, fmt::format("no such file: {}{}", printable(run.data), ending),
                        "name the prefix of both in training.data; empty: synthetic tokens"});
  if (!run.init.empty() && !fs::exists(run.init, code))
    errors.push_back({run.id, fmt::format("no such checkpoint: {}", printable(run.init)),
                      "name another in training.init; empty: random weights"});
}

}  // namespace

Errors check_local_run(const LocalRun& run, const fs::path& trainers) {
  Errors errors;
  if (const auto trainer = find_trainer(run, trainers); trainer.path.empty())
    errors.push_back({run.id, fmt::format("no such program: {}", printable(trainer.wanted)),
                      "name another in ORCH_TRAINER (the environment)"});
  check_files(run, errors);
  if (run.time_limit && run.signal_seconds >= *run.time_limit)
    errors.push_back({run.id,
                      fmt::format("job.time is {:.0f} s, but signal_seconds {:.0f}: it would be "
                                  "told to stop before it began",
                                  *run.time_limit, run.signal_seconds),
                      "make job.time longer or signal_seconds shorter"});
  const auto own = run.environment.find("CUDA_VISIBLE_DEVICES");
  const auto gpus = visible_gpus(own == run.environment.end() ? nullptr : &own->second);
  if (gpus > 0 && run.ranks > gpus)
    errors.push_back(
        {run.id, fmt::format("{} ranks, but {} GPUs are visible", run.ranks, gpus),
         "use fewer gpus, or set CUDA_VISIBLE_DEVICES to nothing to train on the CPU"});
  return errors;
}

}  // namespace orch::launch
