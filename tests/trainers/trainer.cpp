#include "tests/trainers/trainer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <numeric>
#include <ostream>
#include <stdexcept>
#include <thread>

#include "core/record/events/collect.h"
#include "core/train/checkpoint/checkpoint.h"
#include "tests/port.h"
#include "tests/trainers/forked.h"

namespace orch::test {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> environment(const std::map<std::string, std::string>& more) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    if (!more.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (auto& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

// forked: the backend whose main() is called; empty: the program is started.
pid_t start(std::vector<std::string> arguments, const std::map<std::string, std::string>& more,
            const fs::path& log, const std::string& forked) {
  auto variables = environment(more);
  const auto argv = pointers(arguments), envp = pointers(variables);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(file, 1);
    ::dup2(file, 2);
    if (!forked.empty()) {
      ::clearenv();
      for (auto& variable : variables) ::putenv(variable.data());
      const int code = run_trainer(forked, arguments);
      std::fflush(nullptr);
      ::_exit(code);
    }
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(file);
  return pid;
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

nlohmann::ordered_json small_run(int ranks) {
  return nlohmann::ordered_json::parse(fmt::format(R"({{
    "version": 1, "experiment": "test", "strategy": "ddp", "backend": "ddp",
    "backend_version": "0.1.0",
    "model": {{"name": "small", "family": "gpt", "layers": 2, "hidden": 32, "heads": 4,
               "vocab": 100, "seq": 16}},
    "cluster": "local", "partition": "cpu", "gpu": "cpu", "gpus": {0}, "nodes": 1,
    "gpus_per_node": {0}, "tensor_parallel": 1, "pipeline_parallel": 1, "data_parallel": {0},
    "micro_batch": 2, "accumulate": {1}, "global_batch": 8, "rampup": null,
    "tokens": 1000000, "steps": 20,
    "settings": {{"compression": "none", "powersgd_rank": 1, "powersgd_start": 2,
      "powersgd_min_compression_rate": 1, "optimizer": "adamw", "bucket_mb": 0.01,
      "overlap": true, "gradient_as_bucket_view": true, "recompute": "none", "dtype": "fp32",
      "master_weights": true, "flash_attention": false, "fused_kernels": false}},
    "training": {{"learning_rate": 1e-3, "min_learning_rate": 1e-4, "warmup_steps": 5,
      "epsilon": 1e-5, "seed": 7, "collective_timeout": 120, "init_std": 0.1}},
    "job": {{}}
  }})",
                                                   ranks, 4 / ranks));
}

nlohmann::ordered_json small_llama() {
  return {{"name", "small"},  {"family", "llama"}, {"layers", 2},     {"hidden", 32},
          {"heads", 4},       {"kv_heads", 2},     {"vocab", 100},    {"seq", 16},
          {"ffn_hidden", 40}, {"head_dim", 12},    {"qk_norm", true}, {"rope_theta", 500.0}};
}

nlohmann::ordered_json ddp_run(int ranks) {
  auto json = small_run(ranks);
  json["model"]["layers"] = 4;
  return json;
}

nlohmann::ordered_json megatron_run(int tensor, int pipeline, int data) {
  auto json = small_run(tensor * pipeline * data);
  json["strategy"] = json["backend"] = "megatron";
  json["model"]["layers"] = 4;
  json["tensor_parallel"] = tensor;
  json["pipeline_parallel"] = pipeline;
  json["data_parallel"] = data;
  json["accumulate"] = 4 / data;
  json["settings"] = {{"tensor_parallel", tensor}, {"pipeline_parallel", pipeline},
                      {"interleave", 1},           {"stage_partition", "uniform"},
                      {"engine", "megatron"},      {"sequence_parallel", false},
                      {"recompute", "none"},       {"dtype", "fp32"},
                      {"zero_stage", 0},           {"offload", "none"},
                      {"fp32_accumulate", false},  {"flash_attention", false},
                      {"fused_kernels", false},    {"optimizer", "adamw"},
                      {"vocab_multiple", 8},       {"overlap_grad_reduce", true},
                      {"launch_blocking", false}};
  return json;
}

nlohmann::ordered_json zero_run(const std::string& name, int ranks,
                                const nlohmann::ordered_json& settings) {
  auto json = small_run(ranks);
  json["strategy"] = name;
  json["backend"] = "zero3";
  json["model"]["layers"] = 4;
  json["settings"] = {
      {"tensor_parallel", 1},     {"overlap", true},        {"offload_activations", false},
      {"recompute", "none"},      {"dtype", "fp32"},        {"optimizer", "adamw"},
      {"flash_attention", false}, {"fused_kernels", false}, {"prefetch", 1}};
  if (name == "fsdp")
    json["settings"].update({{"sharding", "full"}, {"hybrid_shard_group", 0}});
  else
    json["settings"]["offload"] = "none";
  for (const auto& [key, value] : settings.items()) json["settings"][key] = value;
  return json;
}

bool TrainerAttempt::ok() const {
  return std::all_of(exit_codes.begin(), exit_codes.end(), [](int code) { return code == 0; });
}

bool TrainerAttempt::finished() const { return fs::exists(folder / "finished"); }

std::vector<nlohmann::json> TrainerAttempt::events() const {
  std::vector<nlohmann::json> all;
  std::ifstream in(folder / "events.jsonl");
  for (std::string line; std::getline(in, line);) {
    auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_discarded()) all.push_back(std::move(json));
  }
  return all;
}

nlohmann::json TrainerAttempt::event(const std::string& name) const {
  nlohmann::json found;
  for (auto& each : events())
    if (each.at("event") == name) found = each;
  return found;
}

record::FailureReport TrainerAttempt::failure() const { return events::read_failure(folder); }

TrainerRun::TrainerRun(nlohmann::ordered_json run_json) { write(run_json); }

void TrainerRun::write(const nlohmann::ordered_json& run_json) {
  ranks_ = run_json.at("gpus").get<int>();
  backend_ = run_json.at("backend").get<std::string>();
  program_ = fs::path(ORCH_TRAINER_PROGRAM).parent_path() / ("orch-train-" + backend_);
  std::ofstream(folder() / "run.json") << run_json.dump(2);
}

TrainerAttempt TrainerRun::attempt(const AttemptOptions& options) {
  TrainerAttempt attempt;
  attempt.folder = folder() / "attempts" / std::to_string(++attempts_);
  fs::create_directories(attempt.folder);
  const auto port = std::to_string(free_port());
  const auto began = SteadyClock::now();
  std::vector<pid_t> pids;
  for (int rank = 0; rank < ranks_; ++rank) {
    auto variables = options.environment;
    variables["RANK"] = variables["LOCAL_RANK"] = std::to_string(rank);
    variables["WORLD_SIZE"] = std::to_string(ranks_);
    variables["MASTER_ADDR"] = "127.0.0.1";
    variables["MASTER_PORT"] = port;
    variables.emplace("OMP_NUM_THREADS", "1");
    variables.emplace("OPENBLAS_NUM_THREADS", "1");
    pids.push_back(start(
        {program_, "--run", (folder() / "run.json").string(), "--attempt", attempt.folder.string()},
        variables, attempt.folder / fmt::format("rank-{}.log", rank),
        options.started ? "" : backend_));
  }
  if (options.meanwhile) options.meanwhile(pids, attempt.folder);
  for (int rank = 0; rank < ranks_; ++rank) {
    int status = 0;
    while (::waitpid(pids[rank], &status, WNOHANG) == 0) {
      if (seconds_since(began) > 600) ::kill(pids[rank], SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    attempt.exit_codes.push_back(code_of(status));
  }
  attempt.seconds = seconds_since(began);
  for (int rank = 0; rank < ranks_; ++rank)
    attempt.output += fmt::format("--- rank {} (exit {})\n{}", rank, attempt.exit_codes[rank],
                                  read(attempt.folder / fmt::format("rank-{}.log", rank)));
  return attempt;
}

std::map<int, double> TrainerRun::losses() const {
  std::map<int, double> losses;
  for (int number = 1; number <= attempts_; ++number) {
    TrainerAttempt attempt;
    attempt.folder = folder() / "attempts" / std::to_string(number);
    for (const auto& event : attempt.events())
      if (event.at("event") == "step") losses[event.at("step")] = event.at("loss");
  }
  return losses;
}

std::vector<float> TrainerRun::saved(const std::string& name) const {
  const auto latest = checkpoint::open_latest(checkpoints());
  if (!latest.reader) throw std::runtime_error("no checkpoint");
  const auto* piece = latest.reader->find(name);
  if (!piece) throw std::runtime_error("no tensor " + name);
  const auto wanted =
      checkpoint::TensorPiece::whole(name, checkpoint::TensorDtype::f32, piece->shape);
  std::vector<float> values(static_cast<std::size_t>(wanted.end));
  const auto status = latest.reader->read(wanted, std::as_writable_bytes(std::span(values)));
  if (!status) throw std::runtime_error(text(status.error()));
  return values;
}

std::map<std::string, std::vector<float>> TrainerRun::weights() const {
  std::map<std::string, std::vector<float>> all;
  const auto latest = checkpoint::open_latest(checkpoints());
  if (!latest.reader) throw std::runtime_error("no checkpoint");
  for (const auto& name : latest.reader->names())
    if (name.starts_with("weights/")) all[name.substr(8)] = saved(name);
  return all;
}

bool wait_for_step(const fs::path& attempt, int step, double seconds) {
  const auto began = SteadyClock::now();
  TrainerAttempt seen;
  seen.folder = attempt;
  while (seconds_since(began) < seconds) {
    const auto last = seen.event("step");
    if (!last.is_null() && last.at("step") >= step) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

double larger(double a, double b) { return b <= a || std::isnan(a) ? a : b; }

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = larger(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return most;
}

double distance(const std::map<std::string, std::vector<float>>& a,
                const std::map<std::string, std::vector<float>>& b) {
  if (a.size() != b.size()) return INFINITY;
  double most = 0;
  for (const auto& [name, values] : a)
    most = larger(most, b.contains(name) ? distance(values, b.at(name)) : INFINITY);
  return most;
}

std::ostream& operator<<(std::ostream& to, const TrainedRun& trained) {
  to << "losses";
  for (const auto& [step, loss] : trained.losses) to << fmt::format(" {}", loss);
  to << "; sums of weights";
  for (const auto& [name, values] : trained.weights)
    to << fmt::format(" {} {}", name, std::accumulate(values.begin(), values.end(), 0.0));
  return to;
}

TrainedRun train(const nlohmann::ordered_json& json, const AttemptOptions& options) {
  TrainerRun run(json);
  const auto attempt = run.attempt(options);
  if (!attempt.ok()) throw std::runtime_error(attempt.output);
  TrainedRun trained{run.losses(), run.weights(), {}};
  for (const auto& event : attempt.events())
    if (event.at("event") == "step") trained.norms[event.at("step")] = event.at("gradient_norm");
  return trained;
}

double worst_norm(const TrainedRun& a, const TrainedRun& b) {
  if (a.norms.size() != b.norms.size() || a.norms.empty()) return INFINITY;
  double worst = 0;
  for (const auto& [step, norm] : a.norms)
    worst = larger(worst, std::abs(norm / b.norms.at(step) - 1));
  return worst;
}

double worst_loss(const TrainedRun& a, const TrainedRun& b) {
  if (a.losses.size() != b.losses.size()) return INFINITY;
  double worst = 0;
  for (const auto& [step, loss] : a.losses)
    worst = larger(worst, std::abs(loss - b.losses.at(step)));
  return worst;
}

const TrainedRun& trained(const nlohmann::ordered_json& json) {
  static std::map<std::string, TrainedRun> known;
  const auto [found, is_new] = known.try_emplace(json.dump());
  if (is_new) found->second = train(json);
  return found->second;
}

void expect_near(const TrainedRun& got, const TrainedRun& wanted, double losses, double weights) {
  const auto loss = worst_loss(got, wanted), weight = distance(got.weights, wanted.weights);
  const auto norm = worst_norm(got, wanted);
  UNSCOPED_INFO("losses differ by " << loss << ", weights by " << weight << ", norms by " << norm);
  CHECK(loss <= losses);
  CHECK(weight <= weights);
  CHECK(norm <= 1e-6);
}

}  // namespace orch::test
