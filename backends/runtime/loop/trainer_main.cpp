#include "backends/runtime/loop/trainer_main.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#ifdef ORCH_CUDA
#include <c10/cuda/CUDAFunctions.h>
#endif

#include "backends/runtime/host/failure.h"
#include "core/plan/run_json.h"

namespace orch::train {
namespace {

#ifdef ORCH_CUDA
constexpr bool kHasCuda = true;
#else
constexpr bool kHasCuda = false;
#endif

volatile std::sig_atomic_t stop_asked = 0;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::optional<TrainingJob> parse(int argc, char** argv) {
  TrainingJob job;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--run")
      job.run_json = argv[i + 1];
    else if (option == "--attempt")
      job.attempt = argv[i + 1];
    else
      return std::nullopt;
  }
  if (argc % 2 == 0 || job.run_json.empty() || job.attempt.empty()) return std::nullopt;
  job.last_phase = variable("ORCH_PHASE") == variable("ORCH_PHASES");
  if (!job.last_phase) job.last_batch = std::atoll(variable("ORCH_PHASE_LAST_BATCH").c_str());
  return job;
}

// Divides a machine's cores among its ranks. Under SLURM each rank already has its own.
void share_cores(int ranks) {
  if (!variable("OMP_NUM_THREADS").empty()) return;
  cpu_set_t mine;
  int cores = 1;
  if (::sched_getaffinity(0, sizeof mine, &mine) == 0) cores = CPU_COUNT(&mine);
  const int threads = std::max(1, variable("SLURM_PROCID").empty() ? cores / ranks : cores);
  at::set_num_threads(threads);
  // OpenBLAS has its own threads.
  if (auto* set = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))
    reinterpret_cast<void (*)(int)>(set)(threads);
}

// A job may show each rank all GPUs of its node or only its own.
void choose_device([[maybe_unused]] int& local_rank) {
#ifdef ORCH_CUDA
  const auto count = c10::cuda::device_count();
  if (count == 0) throw ClassifiedFailure("node", "no GPU is visible to this rank");
  local_rank %= count;
  const at::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(local_rank));
  c10::cuda::set_device(device.index());
  at::empty({1}, at::TensorOptions().device(device));  // creates the allocator
#else
  throw ClassifiedFailure("bad_exit",
                          "this trainer was built for the CPU: build one with backends/build cuda");
#endif
}

void mark_finished(const fs::path& attempt) {
  std::ofstream file(attempt / "finished");
  file.flush();
  if (!file)
    throw ClassifiedFailure("disk", (attempt / "finished").string() + ": cannot be written");
}

// Converts the current exception to a ClassifiedFailure with a class.
ClassifiedFailure failure_at_hand() {
  try {
    throw;
  } catch (const ClassifiedFailure& error) {
    return error;
  } catch (const CommError& error) {
    return {"nccl", error.what()};
  } catch (const c10::OutOfMemoryError& error) {
    return {"gpu_memory", error.what_without_backtrace()};
  } catch (const std::bad_alloc&) {
    return {"host_memory", "out of memory"};
  } catch (const c10::Error& error) {
    return {"bad_exit", error.what_without_backtrace()};
  } catch (const std::exception& error) {
    return {"bad_exit", error.what()};
  }
}

// Ranks that only lost another one report that in the log; two of them also in the events, because
// the first may be the one that is gone.
void report(const ClassifiedFailure& failure, const WorldOptions& options, const TrainingJob& job) {
  fmt::print(stderr, "rank {}: {}: {}\n", options.rank, failure.kind(), failure.what());
  std::fflush(stderr);
  if (options.rank > 1 && failure.kind() == "nccl" && !options.alone) return;
  try {
    Events(job.attempt).write("failed", {{"class", failure.kind()}, {"message", failure.what()}});
  } catch (const std::exception&) {  // possibly because the disk is full
  }
}

// Uncatchable exceptions (of a thread, or during another exception) are reported like any other
// failure.
void report_before_terminating(const WorldOptions& options, const TrainingJob& job) {
  static const auto& rank = *new WorldOptions(options);  // threads may outlive main()'s variables
  static const auto& of = *new TrainingJob(job);
  std::set_terminate([] {
    report(
        std::current_exception() ? failure_at_hand() : ClassifiedFailure("bad_exit", "terminated"),
        rank, of);
    std::_Exit(1);
  });
}

int run(const plan::Run& config, const TrainingJob& job, WorldOptions options,
        const MakeEngine& make) {
  options.alone = !variable("ORCH_PROBE").empty();
  options.cuda = options.alone ? kHasCuda : config.partition->gpu.name != "cpu";
  options.timeout_seconds = config.training.collective_timeout;
  options.flight_folder = (job.attempt / "flight").string();
  fs::create_directories(options.flight_folder);
  if (options.cuda) choose_device(options.local_rank);
  if (kHasCuda && !options.cuda && options.size > 1)
    throw ClassifiedFailure(
        "bad_exit",
        "this trainer was built for GPUs and has no Gloo: several ranks on CPUs need one "
        "that is built with backends/build cpu");
  const auto near = static_cast<int>(config.partition->gpus_per_node);
  share_cores(options.cuda ? std::min(near, options.size) : options.size);
  options.give_up = [rank = options, job](const std::string& why) {
    report({"nccl", why}, rank, job);
    std::_Exit(1);
  };
  World world(options);
  try {
    const bool speaks = options.rank == 0 || options.alone;
    const auto events = speaks ? std::make_unique<Events>(job.attempt) : std::make_unique<Events>();
    if (train(config, job, world, *events, make) && speaks) mark_finished(job.attempt);
    return 0;
  } catch (...) {
    const auto failure = failure_at_hand();
    report(failure, options, job);
    world.announce_failure(failure.kind() + ": " + failure.what());
  }
  // Destructors would wait for ranks that are gone.
  std::fflush(stdout);
  std::_Exit(1);
}

}  // namespace

bool stop_was_asked() { return stop_asked != 0; }

void catch_stop() {
  std::signal(SIGUSR1, [](int) { stop_asked = 1; });
}

int trainer_main(int argc, char** argv, const MakeEngine& make) {
  const auto job = parse(argc, argv);
  if (!job) {
    fmt::print(stderr, "usage: {} --run RUN.json --attempt FOLDER\n", argv[0]);
    return 2;
  }
  catch_stop();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that cannot grow gives an error, like a full disk
  // Job scripts set these variables for other trainers. c10d's own watchdog ends the process
  // without naming the missing ranks; our watch finds them first, and then aborts the
  // communicators.
  for (const char* name :
       {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_ENABLE_MONITORING",
        "TORCH_NCCL_DUMP_ON_TIMEOUT", "TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING"})
    ::setenv(name, "0", 1);
  // A kernel that is loaded at its first use makes the device wait for running recvs.
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  WorldOptions options;
  try {
    options = world_options_from_environment();
    report_before_terminating(options, *job);
    auto config = plan::read_run(job->run_json);
    if (!config) throw ClassifiedFailure("data", text(config.error()));
    const auto folder = job->run_json.parent_path().string();
    for (auto* path : {&config->training.data, &config->training.init})
      *path = config->resolve(*path, folder);
    return run(*config, *job, options, make);
  } catch (...) {
    report(failure_at_hand(), options, *job);
    return 1;
  }
}

}  // namespace orch::train
