#include <fmt/format.h>

#include <algorithm>

#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/app/measure.h"
#include "core/app/trainers.h"
#include "core/plan/hardware/write.h"

namespace orch::app {
namespace {

constexpr const char* kLocal = "local";

std::string table(const MeasuredHere& measured) {
  const auto& [measurement, cluster, shipped, busy] = measured;
  auto out = fmt::format("{}: {} ranks of {} thread{}, LibTorch {}\n", cluster.measured->machine,
                         measurement.ranks, measurement.threads,
                         measurement.threads == 1 ? "" : "s", measurement.torch);
  if (measurement.best_threads != measurement.threads)
    out += fmt::format("products are fastest with {} threads\n", measurement.best_threads);
  const auto before = hardware::named_constants(shipped);
  for (const auto& now : hardware::named_constants(cluster.partitions.front())) {
    if (!now.constant.origin.starts_with("measured on ")) continue;
    const auto was = std::find_if(before.begin(), before.end(),
                                  [&](const auto& one) { return one.name == now.name; });
    out += fmt::format("  {:<34}{:>14}  -> {}\n", now.name, was == before.end() ? "-" : was->value,
                       now.value);
  }
  return out;
}

std::string json(const MeasuredHere& measured, const fs::path& file) {
  const auto& cluster = measured.cluster;
  JsonWriter writer;
  writer.begin().field("version", std::int64_t{1}).field("cluster", cluster.name);
  writer.field("file", printable(file.string()))
      .field("machine", cluster.measured->machine)
      .field("date", cluster.measured->date)
      .field("ranks", measured.measurement.ranks)
      .field("threads", measured.measurement.threads)
      .field("best_threads", measured.measurement.best_threads)
      .begin("constants");
  for (const auto& now : hardware::named_constants(cluster.partitions.front()))
    if (now.constant.origin.starts_with("measured on ")) writer.field(now.name, now.constant.value);
  writer.end().end();
  return std::move(writer).text();
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

// Why this machine should be measured; empty: it need not.
std::string reason_to_measure(App& app) {
  const auto cluster = app.clusters().find(kLocal);
  if (!cluster) return {};  // planning will tell
  const auto& measured = (*cluster)->measured;
  const auto here = this_machine();
  if (measured && measured->machine == here) return {};
  const auto folder = fs::path((*cluster)->file).parent_path();
  if (measured && folder == app.places().own_clusters)
    return fmt::format("measured on {}, but this is {}: measuring again (some 10 s)",
                       printable(measured->machine), here);
  // One that somebody put beside the experiment is as they want it.
  std::error_code code;
  if (!fs::equivalent(folder, app.places().clusters(), code)) return {};
  return "measuring this machine before its first run (some 10 s; --no-calibrate: not)";
}

}  // namespace

Ending measure_command(App& app, const CalibrateArguments& arguments, Console& console) {
  const auto& own = app.places().own_clusters;
  if (arguments.output.empty() && own.empty()) return no_home();
  const fs::path file =
      arguments.output.empty() ? own / (std::string(kLocal) + ".yaml") : fs::path(arguments.output);
  const auto measured = measure_here(app, arguments.ranks, file.stem().string());
  if (!measured) return {measured.error(), interrupted() ? Exit::interrupted : Exit::error};
  if (auto status = write_measured(app, *measured, file); !status) return status.error();
  console.print(arguments.common.format == "json" ? json(*measured, file) : table(*measured));
  console.note("written to " + printable(file.string()) + "\n");
  if (!measured->busy.empty()) say(measured->busy, console);
  return Exit::ok;
}

void measure_before_run(App& app, const experiment::Source& source, Console& console) {
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
