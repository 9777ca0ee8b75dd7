#include "core/app/measure.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "core/app/changed.h"
#include "core/app/trainers.h"
#include "core/base/date.h"
#include "core/base/files.h"
#include "core/base/text.h"
#include "core/plan/hardware/write.h"
#include "core/price/measure/measurement.h"
#include "core/price/measure/partition.h"
#include "core/price/measure/this_machine.h"
#include "core/run/launch/local/local_machine.h"
#include "core/run/launch/local/together.h"

namespace orch::app {
namespace {

constexpr const char* kLocal = "local";
constexpr double kMostMeasureSeconds = 120;  // for a very busy machine

// This machine as a cluster, with its measurement.
struct MeasuredHere {
  measure::DeviceMeasurement measurement;
  plan::Cluster cluster;
  plan::Partition shipped;  // its previous constants
  std::string busy;         // a remark on other programs that use the machine; empty: none
};

// A temporary folder, removed at the end.
class Scratch {
 public:
  Scratch() {
    std::error_code code;
    std::string pattern = (fs::temp_directory_path(code) / "orch-measure-XXXXXX").string();
    if (!code && ::mkdtemp(pattern.data())) path_ = pattern;
  }
  ~Scratch() {
    if (!path_.empty()) remove_tree(path_);
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

// The measuring program; empty: not found.
fs::path find_measure(const OrchFolders& places) {
  if (const char* own = std::getenv("ORCH_MEASURE"))
    return *own ? launch::find_program(own) : fs::path();
  const auto beside = launch::find_program((places.trainers / "orch-measure").string());
  return beside.empty() ? launch::find_program("orch-measure") : beside;
}

Result<measure::DeviceMeasurement> measure(const fs::path& program, std::int64_t ranks) {
  const Scratch scratch;
  if (scratch.path().empty())
    return Error{"orch calibrate", "cannot make a folder for temporary files", "set TMPDIR"};
  const auto file = scratch.path() / "measured.json";
  launch::LocalRanks together;
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

// The bytes that ddp's estimates count for the measured kernels: the measuring program uses ddp's
// kernels.
measure::ChargedBytes charged(const App& app, const plan::Partition& partition,
                              const measure::MeasuredLayer& layer) {
  measure::ChargedBytes out;
  const auto strategies = app.backends().strategies();
  const auto ddp = std::find_if(strategies.begin(), strategies.end(),
                                [](const auto& strategy) { return strategy->name == "ddp"; });
  if (ddp == strategies.end()) return out;
  const auto run = small_run(*ddp, partition, layer);
  backend::Work work;
  if (!app.backends().of(**ddp).work(run, backend::WorkTexts::formulas, work) ||
      work.blocks.empty())
    return out;
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

// The partition before the measurement.
Result<plan::Partition> base_partition(const plan::Cluster& shipped,
                                       const hardware::GpuCatalog& gpus,
                                       const measure::DeviceMeasurement& measured) {
  auto base = shipped.partitions.front();
  if (measured.device == "cpu") {
    base.gpus_per_node = std::max(base.gpus_per_node, measured.ranks);
    return base;
  }
  const auto* profile = hardware::find_gpu(gpus, measured.name, measured.memory);
  if (!profile)
    return Error{measured.name, "not in gpus.yaml", "describe it there, with its datasheet"};
  base.name = profile->gpu.name;
  base.gpu = profile->gpu;
  base.efficiency = profile->efficiency;
  base.gpus_per_node = measured.ranks;
  base.gpus_per_domain = 0;
  return base;
}

// A measurement should show an idle machine; on a busy one runs take longer.
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

// "Neoverse-N1 x 2"
std::string this_machine() { return measure::describe(launch::usable_cores().size()); }

// Starts the measuring program with that many ranks (0: as suits the machine) and makes a cluster
// of that name from its output. The program is built first if that is possible.
Result<MeasuredHere> measure_here(App& app, std::int64_t ranks, const std::string& name) {
  const auto gpus = app.clusters().gpus();
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
  out.cluster.measured = plan::MeasuredConstants{this_machine(), today()};
  out.cluster.doc = fmt::format("this computer: {}, measured on {}", out.cluster.measured->machine,
                                out.cluster.measured->date);
  const auto where =
      fmt::format("measured on {}, {}", out.cluster.measured->machine, out.cluster.measured->date);
  out.cluster.partitions.push_back(
      measure::measured_partition(*measured, charged(app, *base, measured->layer), *base, where));
  // The constants are those of single ranks: more ranks than cores also wait for each other.
  auto& ranks_alone = out.cluster.partitions.front().measured_ranks;
  ranks_alone = std::min<std::int64_t>(ranks_alone, std::ssize(launch::usable_cores()));
  out.measurement = std::move(*measured);
  out.shipped = std::move(*base);
  return out;
}

// Writes the cluster's text to a file, whose folder is created; the text is read back before.
Status write_measured(App& app, const MeasuredHere& measured, const fs::path& file) {
  const auto text = hardware::cluster_text(
      measured.cluster,
      fmt::format("Written by orch calibrate --this-machine, with {} ranks and LibTorch {}.\n"
                  "The format is explained at the head of jean-zay.yaml.",
                  measured.measurement.ranks, measured.measurement.torch));
  const auto gpus = app.clusters().gpus();
  if (!gpus) return gpus.error();
  if (auto again = hardware::parse_cluster(text, file.string(), *gpus); !again)
    return again.error();
  std::error_code code;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), code);
  if (code) return file_error(file.parent_path(), "cannot make the folder", code.value());
  return write_file_atomically(file, text);
}

show::Answer answer_of(const MeasuredHere& measured, const fs::path& file) {
  const auto& [measurement, cluster, shipped, busy] = measured;
  auto title =
      fmt::format("{}: {} ranks of {}, LibTorch {}", cluster.measured->machine, measurement.ranks,
                  plural(measurement.threads, "thread"), measurement.torch);
  if (measurement.best_threads != measurement.threads)
    title += fmt::format("\nproducts are fastest with {} threads", measurement.best_threads);
  show::Details details{"machine"};
  details.pairs = {{"cluster", cluster.name},
                   {"file", printable(file.string())},
                   {"machine", cluster.measured->machine},
                   {"date", cluster.measured->date},
                   {"ranks", measurement.ranks},
                   {"threads", measurement.threads},
                   {"best_threads", measurement.best_threads}};
  return {cluster.name,
          title,
          {std::move(details),
           changed_table("constants", "", "measured",
                         changed_constants(cluster.name, shipped, cluster.partitions.front(),
                                           "measured on "))}};
}

Error no_home() {
  return {"orch calibrate", "neither HOME nor XDG_DATA_HOME says where to write",
          "give -o clusters/local.yaml"};
}

void say(const std::string& line, Console& console) { console.note("local: " + line + "\n"); }

bool names_local(const plan::Experiment& experiment) {
  for (const auto& axis : experiment.hardware.axes) {
    const auto at = std::find(axis.fields.begin(), axis.fields.end(), "cluster");
    if (at == axis.fields.end()) continue;
    const auto column = static_cast<std::size_t>(at - axis.fields.begin());
    for (const auto& point : axis.points)
      if (point[column] == plan::Value(std::string(kLocal))) return true;
  }
  return false;
}

// Why this machine should be measured; empty: it need not be.
std::string reason_to_measure(App& app) {
  const auto cluster = app.clusters().find(kLocal);
  if (!cluster) return {};  // planning reports the error
  const auto& measured = (*cluster)->measured;
  const auto here = this_machine();
  if (measured && measured->machine == here) return {};
  const auto folder = fs::path((*cluster)->file).parent_path();
  if (measured && folder == app.places().own_clusters)
    return fmt::format("measured on {}, but this is {}: measuring again (some 10 s)",
                       printable(measured->machine), here);
  // A cluster file beside the experiment is used as it is.
  std::error_code code;
  if (!fs::equivalent(folder, app.places().clusters(), code)) return {};
  return "measuring this machine before its first run (some 10 s; --no-calibrate: not)";
}

}  // namespace

Result<fs::path> measuring_program(const OrchFolders& places) {
  if (!std::getenv("ORCH_MEASURE"))
    if (auto status = build_measure(); !status) return status.error();
  auto program = find_measure(places);
  if (!program.empty()) return program;
  return Error{printable((places.trainers / "orch-measure").string()), "orch-measure not found",
               "build it, as ./orch of a clone does (cmake --preset cpu, then cmake --build "
               "--preset cpu --target orch-measure), or name one in ORCH_MEASURE"};
}

Ending measure_command(App& app, const CalibrateArguments& arguments, Console& console) {
  const auto& own = app.places().own_clusters;
  if (arguments.output.empty() && own.empty()) return no_home();
  const fs::path file =
      arguments.output.empty() ? own / (std::string(kLocal) + ".yaml") : fs::path(arguments.output);
  const auto measured = measure_here(app, arguments.ranks, file.stem().string());
  if (!measured) return {measured.error(), interrupted() ? Exit::interrupted : Exit::error};
  if (auto status = write_measured(app, *measured, file); !status) return status.error();
  arguments.common.give(answer_of(*measured, file), console);
  console.note("written to " + printable(file.string()) + "\n");
  if (!measured->busy.empty()) say(measured->busy, console);
  return Exit::ok;
}

void measure_before_run(App& app, const experiment::ExperimentSource& source, Console& console) {
  if (app.places().own_clusters.empty()) return;
  const auto experiment = app.load(source);
  if (!experiment || !names_local(*experiment)) return;
  const bool possible =
      !find_measure(app.places()).empty() || (can_build_trainers() && !std::getenv("ORCH_MEASURE"));
  const auto reason = reason_to_measure(app);
  if (reason.empty() || !possible) return;
  say(reason, console);
  const auto file = app.places().own_clusters / (std::string(kLocal) + ".yaml");
  const auto measured = measure_here(app, 0, kLocal);
  auto status = measured ? write_measured(app, *measured, file) : Status(measured.error());
  if (status) {
    say("measured; " + printable(file.string()), console);
    if (!measured->busy.empty()) say(measured->busy, console);
  } else if (!interrupted())
    say("could not be measured, so its estimates are guesses: " + text(status.error()), console);
}

}  // namespace orch::app
