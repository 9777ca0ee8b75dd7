#include "core/app/doctor_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/app/changed.h"
#include "core/app/chosen.h"
#include "core/app/cluster_file.h"
#include "core/app/measure.h"
#include "core/app/session.h"
#include "core/base/date.h"
#include "core/base/text.h"
#include "core/plan/hardware/write.h"
#include "core/plan/lua_fields.h"
#include "core/plan/run_id.h"
#include "core/price/measure/nodes.h"
#include "core/run/store/run_folder.h"
#include "core/show/tables/words.h"

namespace orch::app {
namespace {

using measure::NodesMeasurement;
using measure::SlowPart;

constexpr const char* kTimeLimit = "00:10:00";  // more than 64 nodes take

// A job that was measured, and what it says.
struct MeasuredNodes {
  plan::Run run;
  fs::path file;  // nodes.json
  NodesMeasurement measured;
  std::vector<SlowPart> slow;
};

// All of a node's numbers.
struct NodeSummary {
  std::string name;
  std::size_t ranks = 0;
  double least_flops = 0, least_memory = 0;         // of its slowest rank
  std::optional<double> within = {}, between = {};  // bytes/s; with its best partner
  std::vector<std::string> slow = {};
};

// One rank for each GPU, with orch-measure instead of a trainer.
Result<experiment::ExperimentSource> source_of(const DoctorArguments& arguments,
                                               const fs::path& program) {
  const auto slash = arguments.on.find('/');
  if (arguments.on.empty())
    return Error{"orch doctor --nodes", "it needs a machine", "--on CLUSTER/PARTITION"};
  plan::LuaFields hardware, fields;
  hardware.word("cluster", arguments.on.substr(0, slash));
  if (slash != std::string::npos) hardware.word("partition", arguments.on.substr(slash + 1));
  hardware.number("nodes", arguments.nodes).word("time", kTimeLimit);
  auto name = "doctor-" + arguments.on;
  std::ranges::replace(name, '/', '-');
  fields.word("name", name).word("model", "gpt-tiny").add("hardware", hardware.text());
  fields.add("batch", "{ micro_batch = 1 }").add("tokens", "1e6").number("steps", 1);
  fields.add("strategies", "{ ddp { dtype = \"fp32\" } }").word("trainer", program.string());
  experiment::ExperimentSource out(fs::path("orch doctor --nodes"), arguments.set);
  out.text = "return experiment " + fields.text() + "\n";
  return out;
}

// False where fast links join several nodes: all-reduces between those are not over the network.
bool is_one_network(const plan::Partition& partition) {
  return partition.domain() <= partition.gpus_per_node;
}

Result<MeasuredNodes> read_measured(const plan::Run& run, const std::string& runs) {
  MeasuredNodes out{run, {}, {}, {}};
  const auto folder = fs::path(runs) / run.experiment / run.id;
  const auto attempts = store::read_attempts(folder);
  if (!attempts) return attempts.error();
  if (attempts->empty())
    return Error{run.id, "has not started",
                 fmt::format("orch status {0} shows why; orch retry {0} submits it again",
                             shell_path(run.experiment))};
  out.file = folder / "attempts" / std::to_string(attempts->back().number) / "nodes.json";
  const auto text = read_file(out.file);
  if (!text)
    return Error{run.id, "ended without a measurement: " + printable(attempts->back().message),
                 "its log: orch logs " + run.id + " --runs " + shell_path(runs)};
  auto measured = measure::parse_nodes(*text, printable(out.file.string()));
  if (!measured) return measured.error();
  out.measured = std::move(*measured);
  out.slow = measure::slow_parts(out.measured, is_one_network(*run.partition));
  return out;
}

std::string text_of(const SlowPart& part) {
  return fmt::format("{}: {} at {:.0f} % of the usual rate", part.where, part.what,
                     100 * part.share);
}

std::vector<NodeSummary> summaries(const MeasuredNodes& nodes) {
  const auto& measured = nodes.measured;
  std::vector<NodeSummary> out;
  for (const auto& name : measured.nodes) out.push_back({name});
  for (const auto& rank : measured.ranks) {
    auto& node = out[rank.node];
    const auto least = [&](double& so_far, double now) {
      so_far = node.ranks == 0 ? now : std::min(so_far, now);
    };
    least(node.least_flops, rank.product_flops);
    least(node.least_memory, rank.memory_bandwidth);
    ++node.ranks;
  }
  for (const auto& link : measured.within)
    out[link.a].within = measure::link_bandwidth(measured, link);
  for (const auto& link : measured.between)
    for (const auto at : {link.a, link.b})
      out[at].between =
          std::max(out[at].between.value_or(0), measure::link_bandwidth(measured, link));
  for (const auto& part : nodes.slow) out[part.node].slow.push_back(text_of(part));
  return out;
}

show::Cell scaled(std::optional<double> value, double unit) {
  if (!value) return {};
  return show::Cell(*value, tables::significant(*value / unit));
}

show::Table table_of(const MeasuredNodes& nodes) {
  show::Columns<NodeSummary> columns(summaries(nodes));
  columns.add("node", "node", 0, [](const NodeSummary& node) { return node.name; });
  columns.add("ranks", "ranks", 0, [](const NodeSummary& node) { return node.ranks; });
  columns.add("product_flops", "TFLOP/s", 0,
              [](const NodeSummary& node) { return scaled(node.least_flops, 1e12); });
  columns.add("memory_bandwidth", "memory GB/s", 0,
              [](const NodeSummary& node) { return scaled(node.least_memory, 1e9); });
  columns.add("within_bandwidth", "within GB/s", 0,
              [](const NodeSummary& node) { return scaled(node.within, 1e9); });
  columns.add("between_bandwidth", "between GB/s", 0,
              [](const NodeSummary& node) { return scaled(node.between, 1e9); });
  columns.add("slow", [](const NodeSummary& node) { return join(node.slow, "; "); });
  auto out = columns.table("nodes");
  const auto rows = columns.rows();
  out.mark = [rows](std::size_t row) {
    return rows[row]->slow.empty() ? show::Mark::none : show::Mark::bad;
  };
  out.below =
      "TFLOP/s and memory: of the slowest rank, while all work; within and between nodes: large "
      "all-reduces, a node's with its best partner\n";
  return out;
}

plan::Partition measured_links(const MeasuredNodes& nodes) {
  const auto today =
      format_date(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  return measure::measured_links(nodes.measured, *nodes.run.partition,
                                 fmt::format("measured: all-reduces of orch doctor on {}, {}",
                                             plural(nodes.measured.nodes.size(), "node"), today));
}

show::Findings findings_of(const MeasuredNodes& nodes) {
  show::Findings out;
  std::vector<std::string> names;
  for (const auto& part : nodes.slow)
    if (const auto& name = nodes.measured.nodes[part.node]; !contains(names, name))
      names.push_back(name);
  const auto all = fmt::format("{} of {}/{}, {}", plural(nodes.measured.nodes.size(), "node"),
                               nodes.run.cluster->name, nodes.run.partition->name,
                               plural(nodes.measured.ranks.size(), "rank"));
  if (names.empty()) {
    out.list.push_back({"answer", "no slow node among " + all});
    return out;
  }
  out.list.push_back(
      {"answer", fmt::format("{} slow, of {}: {}", names.size(), all, join(names, ", "))});
  for (const auto& part : nodes.slow)
    out.list.push_back({"slow", "  " + nodes.measured.nodes[part.node] + ": " + text_of(part)});
  out.list.push_back(
      {"next", fmt::format("next, to train without: --set 'hardware.options={{\"--exclude={}\"}}'; "
                           "and tell the administrators",
                           join(names, ","))});
  return out;
}

show::Answer answer_of(const MeasuredNodes& nodes) {
  show::Details details{"job"};
  details.pairs = {{"cluster", nodes.run.cluster->name},
                   {"partition", nodes.run.partition->name},
                   {"run", nodes.run.id},
                   {"file", printable(nodes.file.string())}};
  return {"doctor",
          "",
          {findings_of(nodes), table_of(nodes),
           changed_table(
               "constants", "links, as the cluster's file has them and as measured", "measured",
               changed_constants(nodes.run.cluster->name, *nodes.run.partition,
                                 measured_links(nodes), "measured: all-reduces of orch doctor")),
           std::move(details)}};
}

// The file of the cluster with the links of this partition.
Result<std::string> with_links(App& app, const plan::Cluster& cluster,
                               const plan::Partition& partition) {
  const auto text = read_file(cluster.file);
  if (!text) return text.error();
  auto fresh = hardware::with_links(*text, partition, cluster.file);
  if (!fresh) return fresh.error();
  if (const auto again = read_again(cluster, *fresh, cluster.file, app.clusters()); !again)
    return again.error();
  return fresh;
}

Status write_links(App& app, const MeasuredNodes& nodes, Console& console) {
  const auto& cluster = *nodes.run.cluster;
  const auto text = with_links(app, cluster, measured_links(nodes));
  if (!text) return text.error();
  if (auto status = write_file_atomically(cluster.file, *text); !status) return status;
  console.note("written to " + printable(cluster.file) + "\n");
  if (!is_one_network(*nodes.run.partition))
    console.note("network was left alone: fast links join several nodes of this partition\n");
  return {};
}

// Each call is a job of its own, unless the last one still waits or runs: that is followed.
void take_fresh_folder(plan::Run& run, const std::string& runs) {
  const auto is_over = [&] {
    const auto attempts = store::read_attempts(fs::path(runs) / run.experiment / run.id);
    return attempts && !attempts->empty() && attempts->back().state != "running";
  };
  while (is_over()) {
    ++run.repeat;
    run.id = plan::run_id(run);
  }
}

// Submits the job and follows it to its end.
Ending run_job(App& app, const PlannedExperiment& planned, const RunArguments& arguments,
               Console& console) {
  AppSession session(console);
  auto written = write_folders(app, session, planned, arguments, console);
  if (auto* ended = std::get_if<Ending>(&written)) return std::move(*ended);
  std::optional<tables::Standings> end;
  auto ended = launch_runs(app, session, planned, arguments, end, console);
  if (ended.ok() && !end)
    return Exit::scheduler_unreachable;  // nothing was submitted, and why is said
  return ended.exit == Exit::runs_failed ? Ending(Exit::ok) : ended;
}

}  // namespace

Ending nodes_command(App& app, const DoctorArguments& arguments, Console& console) {
  const auto program = measuring_program(app.places());
  if (!program) return program.error();
  const auto source = source_of(arguments, *program);
  if (!source) return {source.error(), Exit::usage};
  RunArguments run;
  run.plan.common.format = "json";  // the answer is ours
  run.plan.source = *source;
  run.plan.options.runs = arguments.runs;
  run.oom = true;
  run.yes = arguments.yes;
  auto planned = plan_where(app, *source, run.plan.options, "");
  if (auto* ended = std::get_if<Ending>(&planned)) return std::move(*ended);
  auto& experiment = std::get<PlannedExperiment>(planned);
  if (experiment.runs.size() != 1)
    return {Error{"orch doctor --nodes", "the changes make several runs", "give --set one value"},
            Exit::usage};
  auto& job = experiment.runs.front().run;
  if (arguments.write)  // what cannot be written is said before the queue
    if (const auto text = with_links(app, *job.cluster, *job.partition); !text)
      return {text.error(), Exit::usage};
  take_fresh_folder(job, arguments.runs);
  if (auto ended = run_job(app, experiment, run, console); !ended.ok()) return ended;
  const auto measured = read_measured(job, arguments.runs);
  if (!measured) return {measured.error(), Exit::runs_failed};
  arguments.common.give(answer_of(*measured), console);
  if (arguments.write)
    if (auto status = write_links(app, *measured, console); !status) return status.error();
  return measured->slow.empty() ? Exit::ok : Exit::runs_failed;
}

}  // namespace orch::app
