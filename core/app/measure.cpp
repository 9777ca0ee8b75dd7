#include "core/app/measure.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "core/base/date.h"
#include "core/base/text.h"
#include "core/app/trainers.h"
#include "core/plan/hardware/write.h"
#include "core/run/launch/local/local_machine.h"
#include "core/run/launch/local/together.h"
#include "core/price/measure/partition.h"
#include "core/price/measure/this_machine.h"

namespace orch::app {
namespace {

constexpr double kMostMeasureSeconds = 120;  // on a machine that is very busy

// A folder that is gone at the end.
class Scratch {
 public:
  Scratch() {
    std::error_code code;
    std::string pattern = (fs::temp_directory_path(code) / "orch-measure-XXXXXX").string();
    if (!code && ::mkdtemp(pattern.data())) path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::int64_t fitting_ranks() {
  if (const int gpus = launch::visible_gpus(nullptr); gpus > 0) return gpus;
  return std::clamp<std::int64_t>(std::ssize(launch::usable_cores()), 2, 4);
}

// The measuring program, as new as its sources where somebody can build it.
Result<fs::path> measuring_program(const Places& places) {
  if (!std::getenv("ORCH_MEASURE"))
    if (auto status = build_measure(); !status) return status.error();
  auto program = find_measure(places);
  if (!program.empty()) return program;
  return Error{printable((places.trainers / "orch-measure").string()),
               "there is no program that measures",
               "build it, as ./orch of a clone does (cmake --preset cpu, then cmake --build "
               "--preset cpu --target orch-measure), or name one in ORCH_MEASURE"};
}

Result<measure::Measurement> measure(const fs::path& program, std::int64_t ranks) {
  const Scratch scratch;
  if (scratch.path().empty())
    return Error{"orch calibrate", "cannot make a folder for temporary files", "set TMPDIR"};
  const auto file = scratch.path() / "measured.json";
  launch::Together together;
  together.argv = {program.string(), "--output", file.string()};
  together.ranks = ranks;
  together.folder = scratch.path();
  together.timeout_seconds = kMostMeasureSeconds;
  together.interrupted = interrupted;
  if (auto status = launch::run_together(together); !status) return status.error();
  const auto text = read_file(file);
  if (!text) return text.error();
  return measure::parse_measurement(*text, printable(program.string()));
}

// A run of one replica of a layer of that size, in fp32.
plan::Run small_run(const plan::StrategyPtr& strategy, const plan::Partition& partition,
                    const measure::MeasuredLayer& layer) {
  plan::Run run;
  run.strategy = strategy;
  for (const auto& param : strategy->params)
    run.settings.push_back(param.name == "dtype" ? plan::Value(std::string("fp32"))
                                                 : param.default_value);
  run.model = layer.model();
  run.partition = &partition;
  run.gpus = run.nodes = 1;
  run.batch = {layer.micro_batch, 1, layer.micro_batch, {}};
  return run;
}

// What the estimates of ddp charge for what was measured: its trainer is the one that was built
// with the measuring program.
measure::Charged charged(const App& app, const plan::Partition& partition,
                         const measure::MeasuredLayer& layer) {
  measure::Charged out;
  const auto strategies = app.backends().strategies();
  const auto ddp = std::find_if(strategies.begin(), strategies.end(),
                                [](const auto& strategy) { return strategy->name == "ddp"; });
  if (ddp == strategies.end()) return out;
  const auto run = small_run(*ddp, partition, layer);
  backend::Work work;
  if (!app.backends().of(**ddp).work(run, true, work) || work.blocks.empty()) return out;
  const auto layer_end = work.blocks.front().n_ops;
  for (std::size_t i = 0; i < work.ops.size(); ++i) {
    const auto& op = work.ops[i];
    const double bytes = op.data.bytes * (op.data.forward + op.data.backward);
    if (op.data.kernel == ORCH_ELEMENT_WISE) out.element_wise += bytes;
    if (op.data.kernel == ORCH_SOFTMAX) out.softmax += bytes;
    if (op.data.kernel == ORCH_CROSS_ENTROPY) out.cross_entropy += bytes;
    if (op.name == "optimizer" && i < layer_end) out.optimizer = op.data.bytes / layer.params();
  }
  return out;
}

// What is known before anything is measured.
Result<plan::Partition> base_partition(const plan::Cluster& shipped,
                                       const hardware::GpuCatalog& gpus,
                                       const measure::Measurement& measured) {
  auto base = shipped.partitions.front();
  if (measured.device == "cpu") {
    base.gpus_per_node = std::max(base.gpus_per_node, measured.ranks);
    return base;
  }
  const auto* profile = hardware::find_gpu(gpus, measured.name, measured.memory);
  if (!profile)
    return Error{measured.name, "gpus.yaml has no such GPU",
                 "describe it there, with its datasheet"};
  base.name = profile->gpu.name;
  base.gpu = profile->gpu;
  base.efficiency = profile->efficiency;
  base.gpus_per_node = measured.ranks;
  return base;
}

// What is measured is an idle machine's; on a busy one runs take longer.
std::string busy_note() {
  double load = 0;
  const auto cores = static_cast<double>(launch::usable_cores().size());
  if (::getloadavg(&load, 1) != 1 || load < 0.5 * cores) return {};
  return fmt::format(
      "other programs use this machine (load {:.1f} on {:g} cores): while they do, runs take "
      "longer "
      "than estimated",
      load, cores);
}

std::string today() {
  return format_date(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
}

}  // namespace

std::string this_machine() { return measure::describe(launch::usable_cores().size()); }

fs::path find_measure(const Places& places) {
  if (const char* own = std::getenv("ORCH_MEASURE"))
    return *own ? launch::find_program(own) : fs::path();
  const auto beside = launch::find_program((places.trainers / "orch-measure").string());
  return beside.empty() ? launch::find_program("orch-measure") : beside;
}

Result<MeasuredHere> measure_here(const App& app, std::int64_t ranks, const std::string& name) {
  const auto gpus = hardware::load_gpus(app.places().gpus());
  if (!gpus) return gpus.error();
  const auto shipped = hardware::load_cluster(app.places().clusters() / "local.yaml", *gpus);
  if (!shipped) return shipped.error();
  const auto program = measuring_program(app.places());
  if (!program) return program.error();
  MeasuredHere out;
  out.busy = busy_note();
  auto measured = measure(*program, ranks > 0 ? ranks : fitting_ranks());
  if (!measured) return measured.error();
  auto base = base_partition(*shipped, *gpus, *measured);
  if (!base) return base.error();
  out.cluster.name = name;
  out.cluster.launch = "local";
  out.cluster.measured = plan::Measured{this_machine(), today()};
  out.cluster.doc = fmt::format("this computer: {}, measured on {}", out.cluster.measured->machine,
                                out.cluster.measured->date);
  const auto where =
      fmt::format("measured on {}, {}", out.cluster.measured->machine, out.cluster.measured->date);
  out.cluster.partitions.push_back(
      measure::measured_partition(*measured, charged(app, *base, measured->layer), *base, where));
  // Their own time was measured: more ranks than cores wait for each other besides.
  auto& ranks_alone = out.cluster.partitions.front().measured_ranks;
  ranks_alone = std::min<std::int64_t>(ranks_alone, std::ssize(launch::usable_cores()));
  out.measurement = std::move(*measured);
  out.shipped = std::move(*base);
  return out;
}

Status write_measured(const App& app, const MeasuredHere& measured, const fs::path& file) {
  const auto text = hardware::cluster_text(
      measured.cluster,
      fmt::format("Written by orch calibrate --this-machine, with {} ranks and LibTorch {}.\n"
                  "The format is explained at the head of jean-zay.yaml.",
                  measured.measurement.ranks, measured.measurement.torch));
  const auto gpus = hardware::load_gpus(app.places().gpus());
  if (!gpus) return gpus.error();
  if (auto again = hardware::parse_cluster(text, file.string(), *gpus); !again)
    return again.error();
  std::error_code code;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), code);
  if (code) return file_error(file.parent_path(), "cannot make the folder", code.value());
  return write_file_atomically(file, text);
}

}  // namespace orch::app
