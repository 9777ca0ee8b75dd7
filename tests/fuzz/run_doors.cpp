#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/flight.h"
#include "core/base/text.h"
#include "tests/fuzz/doors.h"

namespace orch::fuzz {
namespace {

constexpr const char* kStatus =
    R"({"version": 1, "state": "failed", "message": "exit code 5", "job_id": "77",
 "submission": "0001-0123456789abcdef", "restart_count": 0, "phase": 1, "phases": 1, "gpus": 4,
 "start": "2026-11-15T07:00:00Z", "end": "2026-11-15T08:00:00Z", "signal": null, "exit_code": 5,
 "nodes": ["n1"], "bad_nodes": []}
)";
constexpr const char* kState =
    R"({"version": 1, "state": "failed", "failure": "nccl", "reason": "a rank died",
 "cancel_asked": false, "cancelled_hang": {"submission": "0001-0123456789abcdef", "reason": "no step for 20 s"},
 "retries_from": 0, "gpu_hours": 1.5, "end": 1763200000, "elapsed_seconds": 3600,
 "submission": "0001-0123456789abcdef", "progress": {"step": 12, "time": 1763193612, "age": 3, "loss": 3.2,
 "step_seconds": 0.5, "tokens_per_second": 16384, "peak_memory_bytes": 17179869184, "tokens": 98304}}
)";
constexpr const char* kLog =
    "0: loading\n1: loading\n0: RuntimeError: CUDA out of memory. Tried to allocate 2 GiB\n"
    "[rank1]: NCCL watchdog timeout\nslurmstepd: error: *** JOB 77 CANCELLED ***\n";

std::string events() {
  std::string text =
      R"({"event":"start","time":1763193600.1,"ranks":4,"device":"cpu","torch":"1.13","parameters":100})"
      "\n";
  for (int step = 1; step <= 12; ++step)
    text += fmt::format(
        R"({{"event":"step","time":{}.5,"step":{},"loss":{}.25,"step_seconds":0.5,"tokens":{},)"
        R"("tokens_per_second":16384.0,"peak_memory_bytes":17179869184,"gradient_norm":1.5,"bubble":0.1}})"
        "\n",
        1763193600 + step, step, 12 - step, step * 8192);
  return text +
         R"({"event":"evaluation","time":1763193613,"step":12,"loss":3.4})"
         "\n"
         R"({"event":"checkpoint","time":1763193614,"step":12})"
         "\n"
         R"({"event":"profile","time":1763193615,"step":12,"time_items":{"QKV":0.12,"optimizer":0.1},"memory_items":{"weights":100}})"
         "\n"
         R"({"event":"failed","time":1763193616,"class":"nccl","message":"a rank died"})"
         "\n";
}

// run.json without its checksum: as if written by hand.
void unseal(std::string& run_json) {
  const auto at = run_json.rfind(",\n  \"checksum\"");
  if (at != std::string::npos) run_json = run_json.substr(0, at) + "\n}\n";
}

// The folder of an experiment's runs as written by orch, with an attempt for one of them.
Input written(const fs::path& experiment) {
  furnish({});
  orch({"run", experiment.string(), "--runs", "runs", "--where", "true"});
  auto input = folder_as_seed(room() / "runs", "runs");
  std::erase_if(input, [](const InputPart& part) {
    return part.name.find("index.") != part.name.npos || part.name.find("/.") != part.name.npos;
  });
  std::string run, folder;
  std::erase_if(input, [&](const InputPart& part) {  // only the first of all runs
    const auto parts = split(part.name, '/');
    if (parts.size() < 4) return false;
    if (run.empty()) run = parts[2], folder = parts[0] + "/" + parts[1];
    return parts[2] != run;
  });
  for (auto& part : input)
    if (part.name.ends_with("run.json")) unseal(part.bytes);
  std::erase_if(input, [](const InputPart& part) { return part.name.ends_with(".sbatch"); });
  const auto attempt = folder + "/" + run + "/attempts/1/";
  input.push_back({folder + "/" + run + "/job.sbatch", "#!/bin/bash\n"});
  input.push_back({folder + "/" + run + "/state.json", kState});
  input.push_back({attempt + "status.json", kStatus});
  input.push_back({attempt + "events.jsonl", events()});
  input.push_back({attempt + "stdout.log", kLog});
  input.push_back({folder + "/wanted", run + "\n"});
  input.push_back(
      {folder + "/submissions/0001-0123456789abcdef/submission.json",
       fmt::format(
           R"({{"version": 1, "id": "0001-0123456789abcdef", "executor": "slurm", "time": 1763193000,)"
           R"( "array": false, "phase": 1, "after": "", "runs": ["{}"]}})",
           run)});
  input.push_back({folder + "/submissions/0001-0123456789abcdef/answer", "77\n"});
  return input;
}

const Input& run_folder() {
  static const auto folder = written(kSource / "experiments/gpt2_v100.lua");
  return folder;
}

// The run's place in the room: from the name of its part.
std::string run_of(const Input& input) {
  for (const auto& part : input)
    if (part.name.ends_with("/run.json")) return fs::path(part.name).parent_path().string();
  return "runs";
}

// The seed with only one part to be changed; the others are added in furnish_run.
Input only(std::string_view ending) {
  auto input = run_folder();
  std::erase_if(input, [&](const InputPart& part) { return !part.name.ends_with(ending); });
  return input;
}

void furnish_run(const Input& input) {
  auto all = input;
  if (input.size() < 3)
    for (const auto& part : run_folder())
      if (std::none_of(input.begin(), input.end(),
                       [&](const InputPart& has) { return has.name == part.name; }))
        all.push_back(part);
  furnish(all);
}

}  // namespace

std::vector<Input> run_folder_seeds() { return {run_folder()}; }

std::vector<Input> run_json_seeds() {
  std::vector<Input> seeds{only("/run.json")};
  for (const auto& seed : files_as_seeds("tests/golden", "run.json")) {
    seeds.push_back({{seeds.front().front().name, seed.front().bytes}});
    unseal(seeds.back().front().bytes);
  }
  return seeds;
}

std::vector<Input> events_seeds() { return {only("/events.jsonl")}; }

void enter_run_folder(const Input& input) {
  furnish_run(input);
  const auto run = run_of(run_folder());
  const std::vector<std::vector<std::string>> verbs{
      {"status"},
      {"status", "--format", "json"},
      {"status", "--format", "csv"},
      {"explain", run},
      {"explain", run, "--format", "json"},
      {"inspect", run},
      {"logs", run},
      {"logs", run, "--rank", "1", "--lines", "3"},
      {"report", run, "-o", "page.html"},
      {"compare", run, run},
      {"index"},
      {"probe", run, "--prepare"},
  };
  orch(verbs[choice(input, verbs.size())]);
}

std::vector<Input> flight_seeds() {
  const auto folder = run_of(run_folder()) + "/attempts/1/flight/";
  furnish({});
  Input input;
  for (int rank = 0; rank < 2; ++rank) {
    flight::Recorder recorder(room().string(), rank);
    recorder.step(7);
    for (int i = 0; i < 3 + rank; ++i) {
      const auto number =
          recorder.begin(i == 1 ? "send" : "all_reduce", i == 2 ? "pipeline" : "data", 4096);
      if (i != 3) recorder.end(number);
    }
    input.push_back({folder + flight::file_name(rank), text_of(room() / flight::file_name(rank))});
  }
  return {input};
}

void enter_flight(const Input& input) {
  furnish_run(input);
  if (choice(input, 2) == 0)
    orch({"inspect", run_of(run_folder())});
  else
    orch({"inspect", run_of(run_folder()), "--format", "json"});
}

}  // namespace orch::fuzz
