#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/date.h"
#include "core/base/text.h"
#include "core/hardware/calibration.h"
#include "core/hardware/constants.h"
#include "core/hardware/hardware.h"
#include "core/hardware/yaml.h"
#include "core/plan/slurm.h"

namespace orch::hardware {
namespace {

constexpr std::array<std::pair<std::string_view, std::string plan::Slurm::*>, 8> kWords{{
    {"partition", &plan::Slurm::partition},
    {"account", &plan::Slurm::account},
    {"qos", &plan::Slurm::qos},
    {"constraint", &plan::Slurm::constraint},
    {"reservation", &plan::Slurm::reservation},
    {"hint", &plan::Slurm::hint},
    {"gres", &plan::Slurm::gres},
    {"time", &plan::Slurm::time},
}};

const std::vector<std::string>& slurm_keys() {
  static const std::vector<std::string> known = [] {
    std::vector<std::string> names;
    for (const auto& [key, member] : kWords) names.emplace_back(key);
    for (const auto* key :
         {"cpus_per_gpu", "signal_seconds", "spare_nodes", "options", "environment", "setup"})
      names.emplace_back(key);
    return names;
  }();
  return known;
}

std::string read_word(std::string_view key, const Field& field) {
  const auto text = field.text();
  if (!text) return "";
  const auto status = plan::check_sbatch_word(key, *text, field.place());
  if (!status) field.add(status.error());
  return *text;
}

void read_environment(const Field& field, std::map<std::string, std::string>& out) {
  const Map map(field);
  for (const auto& [name, value] : map.entries()) {
    if (!plan::is_environment_name(name))
      value.problem("not a name for an environment variable",
                    "use letters, digits and '_', not starting with a digit");
    out[name] = value.verbatim().value_or("");
  }
}

plan::Slurm read_slurm(const Field& field) {
  plan::Slurm slurm;
  const Map map(field, slurm_keys());
  for (const auto& [key, member] : kWords)
    if (const auto* word = map.find(key)) slurm.*member = read_word(key, *word);
  if (const auto* cpus = map.find("cpus_per_gpu"))
    slurm.cpus_per_gpu = cpus->integer(1, 1024).value_or(0);
  if (const auto* spare = map.find("spare_nodes")) slurm.spare_nodes = spare->integer(0, 1'000'000);
  if (const auto* options = map.find("options"))
    for (const auto& option : options->list().value_or(std::vector<Field>{}))
      slurm.options.push_back(read_word("options", option));
  if (const auto* environment = map.find("environment"))
    read_environment(*environment, slurm.environment);
  // Shell lines of the site, verbatim: whoever may write this file may run commands anyway.
  if (const auto* setup = map.find("setup")) slurm.setup = setup->text().value_or("");
  if (const auto* signal = map.find("signal_seconds")) {
    slurm.signal_seconds = signal->integer(1, 65535).value_or(0);  // what sbatch takes
    const auto limit = plan::parse_slurm_time(slurm.time);
    if (limit && static_cast<double>(slurm.signal_seconds) >= *limit)
      signal->problem(fmt::format("{} s before the end is not within a time of {}",
                                  slurm.signal_seconds, slurm.time),
                      "make it shorter than time");
  }
  return slurm;
}

plan::Link read_link(const Map& map, std::string_view key) {
  plan::Link link;
  if (const auto* field = map.require(key, "{ bandwidth: …, latency: …, efficiency: … }"))
    read_constants(Map(*field, keys(kLinkFields)), kLinkFields, Presence::as_required, link);
  return link;
}

void read_gpu(const Map& map, const GpuCatalog& gpus, plan::Partition& partition) {
  const auto* field = map.require("gpu", "a name from gpus.yaml");
  if (!field) return;
  const auto name = field->text();
  if (!name) return;
  const auto found = gpus.find(*name);
  if (found == gpus.end()) {
    std::vector<std::string> names;
    for (const auto& [known, profile] : gpus) names.push_back(known);
    field->problem(fmt::format("no GPU is called '{}'", printable(*name)),
                   suggestion(*name, names) + " (GPUs are described in gpus.yaml)");
    return;
  }
  partition.gpu = found->second.gpu;
  partition.efficiency = found->second.efficiency;
}

// A site's own values over those of gpus.yaml.
void read_overrides(const Map& map, plan::Partition& partition) {
  if (const auto* field = map.find("gpu_constants")) {
    read_constants(Map(*field, keys(kGpuFields)), kGpuFields, Presence::all_optional,
                   partition.gpu);
    check_gpu(partition.gpu, *field);
  }
  if (const auto* field = map.find("efficiency"))
    read_constants(Map(*field, keys(kEfficiencyFields)), kEfficiencyFields, Presence::all_optional,
                   partition.efficiency);
}

std::string read_name(const Map& map, std::string_view example) {
  const auto* field = map.require("name", example);
  const auto name = field ? field->text() : std::nullopt;
  if (!name) return "";
  if (!is_plain_name(*name))
    field->problem(fmt::format("'{}' cannot be a name", printable(*name)),
                   "use letters, digits, '.', '_' and '-', not starting with '-' or '.'");
  return *name;
}

plan::Partition read_partition(const Field& field, const GpuCatalog& gpus) {
  static const std::vector<std::string> known{
      "name", "gpu",  "gpu_constants", "gpus_per_node", "nodes",  "intra_node",    "network",
      "pcie", "host", "efficiency",    "slurm",         "fitted", "measured_ranks"};
  plan::Partition partition;
  const Map map(field, known);
  partition.name = read_name(map, "a100-80g");
  read_gpu(map, gpus, partition);
  read_overrides(map, partition);
  if (const auto* count = map.require("gpus_per_node", "8"))
    partition.gpus_per_node = count->integer(1, 1024).value_or(0);
  if (const auto* count = map.require("nodes", "16"))
    partition.nodes = count->integer(1, 1'000'000).value_or(0);
  if (const auto* count = map.find("measured_ranks"))
    partition.measured_ranks = count->integer(1, 1024).value_or(0);
  partition.intra_node = read_link(map, "intra_node");
  partition.network = read_link(map, "network");
  partition.pcie = read_link(map, "pcie");
  if (const auto* host = map.require("host", "{ memory: …, memory_bandwidth: … }"))
    read_constants(Map(*host, keys(kHostFields)), kHostFields, Presence::as_required, partition);
  if (const auto* slurm = map.find("slurm")) partition.slurm = read_slurm(*slurm);
  if (const auto* fitted = map.find("fitted")) read_calibrations(*fitted, partition);
  return partition;
}

void read_partitions(const Map& map, const GpuCatalog& gpus, plan::Cluster& cluster) {
  const auto* field = map.require("partitions", "a list with a '- name: …' for each");
  const auto items = field ? field->list() : std::nullopt;
  if (!items) return;
  if (items->empty()) field->problem("the list is empty", "describe at least one partition");
  for (const auto& item : *items) {
    auto partition = read_partition(item, gpus);
    if (!partition.name.empty() && cluster.find(partition.name))
      item.problem(fmt::format("a second partition is called '{}'", printable(partition.name)),
                   "give each partition a name of its own");
    cluster.partitions.push_back(std::move(partition));
  }
}

void read_launch(const Map& map, plan::Cluster& cluster) {
  static const std::vector<std::string> ways{"slurm", "local", "auto"};
  const auto* field = map.require("launch", "slurm, local or auto");
  const auto launch = field ? field->text() : std::nullopt;
  if (!launch) return;
  if (std::find(ways.begin(), ways.end(), *launch) == ways.end())
    field->problem(fmt::format("'{}' is not a way to launch", printable(*launch)),
                   suggestion(*launch, ways));
  cluster.launch = *launch;
}

plan::Measured read_measured(const Field& field) {
  const Map map(field, {"machine", "date"});
  plan::Measured measured;
  if (const auto* machine = map.require("machine", "\"Neoverse-N1 x 2\""))
    measured.machine = machine->text().value_or("");
  if (const auto* date = map.require("date", "\"2026-11-15\"")) {
    measured.date = date->text().value_or("");
    if (!parse_date(measured.date))
      date->problem(fmt::format("'{}' is not a day", printable(measured.date)),
                    "write it like \"2026-11-15\"");
  }
  return measured;
}

// Experiments name a cluster, and the name leads to the file: the two must agree.
void check_file_name(const Map& map, const plan::Cluster& cluster) {
  const auto stem = fs::path(cluster.file).stem().string();
  if (!cluster.name.empty() && cluster.name != stem)
    map.find("name")->problem(
        fmt::format("'{}' in a file called {}.yaml", printable(cluster.name), printable(stem)),
        "make the name and the file's name the same");
}

plan::Cluster read_cluster(const Field& document, const std::string& file, const GpuCatalog& gpus) {
  plan::Cluster cluster;
  cluster.file = file;
  const Map map(document, {"name", "doc", "launch", "measured", "partitions"});
  cluster.name = read_name(map, "the file's name without .yaml");
  check_file_name(map, cluster);
  if (const auto* doc = map.find("doc")) cluster.doc = trim(doc->text().value_or(""));
  read_launch(map, cluster);
  if (const auto* measured = map.find("measured")) cluster.measured = read_measured(*measured);
  read_partitions(map, gpus, cluster);
  return cluster;
}

}  // namespace

Result<plan::Cluster> parse_cluster(const std::string& text, const std::string& file,
                                    const GpuCatalog& gpus) {
  Report report{file, {}};
  plan::Cluster cluster;
  if (const auto document = read_document(text, report))
    cluster = read_cluster(*document, file, gpus);
  if (!report.errors.empty()) return report.errors;
  return cluster;
}

Result<plan::Cluster> load_cluster(const fs::path& file, const GpuCatalog& gpus) {
  const auto text = read_yaml_file(file);
  if (!text) return text.error();
  return parse_cluster(*text, printable(file.string()), gpus);
}

}  // namespace orch::hardware
