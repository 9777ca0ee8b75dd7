// orch-measure [--output FILE]: measures what a rank reaches on this machine while all ranks work.
// orch-measure --run FILE --attempt FOLDER: measures the nodes of a job, for orch doctor --nodes.
//
// Started like a trainer, once for each rank, with RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and
// MASTER_PORT. Rank 0 writes one JSON document; in an attempt it is nodes.json.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/version.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "backends/measure/device.h"
#include "backends/measure/nodes.h"
#include "backends/measure/operations.h"
#include "backends/measure/timing.h"
#include "backends/runtime/loop/memory.h"
#include "core/base/files.h"

#ifdef ORCH_CUDA
#include <c10/cuda/CUDAFunctions.h>
#endif

namespace orch::measure {
namespace {

constexpr double kSecondsEach = 0.05, kSecondsOfNodes = 0.2;

bool has_gpu() {
#ifdef ORCH_CUDA
  return c10::cuda::device_count() > 0;
#else
  return false;
#endif
}

// The memory of a process before its first tensor, and that of its communicators.
Json memory(double before, double after, double with_products, at::Device device) {
  return {{"in_all", bytes_in_all(device)},
          {"context", with_products - (after - before)},
          {"communicator", std::max(0.0, after - before)}};
}

train::WorldOptions world_options() {
  auto options = train::world_options_from_environment();
  options.cuda = has_gpu();
#ifdef ORCH_CUDA
  // A job may show each rank all GPUs of its node or only its own.
  if (options.cuda) options.local_rank %= c10::cuda::device_count();
#endif
  options.timeout_seconds = 60;
  return options;
}

Json measure_nodes() {
  auto options = world_options();
  options.timeout_seconds = 300;  // the fast pairs wait for a slow one
  train::World world(options);
  return nodes(world, kSecondsOfNodes);
}

Json measure() {
  const auto options = world_options();
  const at::Device device =
      options.cuda ? at::Device(at::kCUDA, static_cast<at::DeviceIndex>(options.local_rank))
                   : at::Device(at::kCPU);
  at::ones({1}, device).add_(1);
  const double before = bytes_taken(device);
  train::World world(options);
  TimedDevice bench(world.world(), world.device(), kSecondsEach);
  world.world().all_reduce(at::ones({1024}, world.device())).wait();
  const double after = bytes_taken(device);
  at::mm(at::ones({64, 64}, device), at::ones({64, 64}, device));
  synchronize(device);
  const double with_products = bytes_taken(device);
  Json out{{"version", 1},
           {"torch", TORCH_VERSION},
           {"device", options.cuda ? "cuda" : "cpu"},
           // Empty for a CPU, whose name the caller knows.
           {"name", options.cuda ? train::device_name(device) : std::string()},
           {"ranks", world.size()},
           {"memory", memory(before, after, with_products, device)},
           {"threads", at::get_num_threads()}};
  out["best_threads"] = best_threads(bench);
  out["launch_seconds"] = launch_seconds(bench);
  out["products"] = products(bench);
  out["attention"] = attention_products(bench);
  const auto size = layer_size(device);
  out["layer"] = size.json();
  out["passes"] = passes(bench, size);
  out["all_reduce"] = all_reduces(bench);
  out["copies"] = copies(bench);
  world.world().barrier();
  return world.rank() == 0 ? out : Json();
}

int write(const std::string& text, const std::string& file) {
  if (file.empty()) return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0;
  const auto status = write_file_atomically(file, text);
  if (!status) std::fprintf(stderr, "orch-measure: %s\n", orch::text(status.error()).c_str());
  return status ? 0 : 1;
}

int write(const Json& json, const std::string& file) {
  return json.is_null() ? 0 : write(json.dump(1) + "\n", file);
}

}  // namespace
}  // namespace orch::measure

int main(int argc, char** argv) {
  using namespace orch;
  std::string file;
  fs::path attempt;
  if (argc == 3 && std::string_view(argv[1]) == "--output") {
    file = argv[2];
  } else if (argc == 5 && std::string_view(argv[3]) == "--attempt") {
    attempt = argv[4];
    file = (attempt / "nodes.json").string();
  } else if (argc != 1) {
    std::fputs("usage: orch-measure [--output FILE | --run FILE --attempt FOLDER]\n", stderr);
    return 2;
  }
  try {
    const auto measured = attempt.empty() ? measure::measure() : measure::measure_nodes();
    const int code = measure::write(measured, file);
    if (code != 0 || attempt.empty() || measured.is_null()) return code;
    return measure::write(std::string(), (attempt / "finished").string());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orch-measure: %s\n", error.what());
    return 1;
  }
}
