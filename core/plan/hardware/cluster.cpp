#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/date.h"
#include "core/base/multiples.h"
#include "core/base/text.h"
#include "core/plan/hardware/constants.h"
#include "core/plan/hardware/hardware.h"
#include "core/plan/hardware/yaml.h"

namespace orch::hardware {
namespace {

// A field that is required, unless the cluster is like another one.
struct RequiredField {
  const Map& map;
  bool required;
  const YamlField* find(std::string_view key, std::string_view example) const {
    return required ? map.require(key, example) : map.find(key);
  }
  Presence presence() const { return required ? Presence::as_required : Presence::all_optional; }
};

void read_link(const RequiredField& asked, std::string_view key, plan::Link& link) {
  if (const auto* field = asked.find(key, "{ bandwidth: …, latency: …, efficiency: … }"))
    read_constants(Map(*field, keys(kLinkFields)), kLinkFields, asked.presence(), link);
}

// If the GPU differs from that of the partition it is like, none of that partition's GPU values are
// kept.
void read_gpu(const RequiredField& asked, const GpuCatalog& gpus, plan::Partition& partition) {
  const auto* field = asked.find("gpu", "a name from gpus.yaml");
  const auto name = field ? field->text() : std::nullopt;
  if (!name || *name == partition.gpu.name) return;
  const auto found = gpus.find(*name);
  if (found == gpus.end()) {
    field->problem(fmt::format("no GPU is called '{}'", printable(*name)),
                   suggestion(*name, all_names(gpus)) + " (GPUs are described in gpus.yaml)");
    return;
  }
  partition.gpu = found->second.gpu;
  partition.efficiency = found->second.efficiency;
  partition.calibration.reset();
}

// Overrides the values of gpus.yaml by the site's own.
void read_overrides(const Map& map, plan::Partition& partition) {
  if (const auto* field = map.find("gpu_constants"))
    read_gpu_constants(*field, {}, Presence::all_optional, partition.gpu);
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

// The partition of the other cluster that this one is like: the named one, the one of the same
// name, or the only one.
const plan::Partition* base_of(const Map& map, const std::string& name, const plan::Cluster* like) {
  const auto* field = map.find("like");
  if (!like) {
    if (field)
      field->problem("the cluster is like no other", "write like: <a cluster> beside its name");
    return nullptr;
  }
  if (!field) {
    const auto* same = like->find(name);
    return same || like->partitions.size() > 1 ? same : &like->partitions.front();
  }
  const auto wanted = field->text();
  const auto* found = wanted ? like->find(*wanted) : nullptr;
  if (wanted && !found)
    field->problem(fmt::format("{} has no partition '{}'", like->name, printable(*wanted)),
                   suggestion(*wanted, all_names(like->partitions)));
  return found;
}

void read_domain(const YamlField& field, plan::Partition& partition) {
  partition.gpus_per_domain = field.integer(0, 1'000'000).value_or(0);
  const auto node = std::max<std::int64_t>(1, partition.gpus_per_node);
  if (partition.gpus_per_domain % node != 0)
    field.problem(
        fmt::format("{} is not a multiple of gpus_per_node = {}", partition.gpus_per_domain, node),
        fmt::format(
            "give the GPUs of some whole nodes, such as {}, or 0 where fast links join one node",
            round_up(partition.gpus_per_domain, node)));
}

plan::Partition read_partition(const YamlField& field, const GpuCatalog& gpus,
                               const plan::Cluster* like,
                               const std::optional<plan::SiteOperation>& of_all) {
  static const std::vector<std::string> known{
      "name",       "like",       "gpu",     "gpu_constants",  "gpus_per_node",
      "nodes",      "intra_node", "network", "pcie",           "host",
      "efficiency", "slurm",      "fitted",  "measured_ranks", "gpus_per_domain",
      "operation"};
  const Map map(field, known);
  const auto name = read_name(map, "a100-80g");
  const auto* base = base_of(map, name, like);
  auto partition = base ? *base : plan::Partition{};
  partition.name = name;
  const RequiredField asked{map, !base && !map.find("like")};
  read_gpu(asked, gpus, partition);
  read_overrides(map, partition);
  if (const auto* count = asked.find("gpus_per_node", "8"))
    partition.gpus_per_node = count->integer(1, 1024).value_or(0);
  if (const auto* count = asked.find("nodes", "16"))
    partition.nodes = count->integer(1, 1'000'000).value_or(0);
  if (const auto* count = map.find("gpus_per_domain")) read_domain(*count, partition);
  if (const auto* count = map.find("measured_ranks"))
    partition.measured_ranks = count->integer(1, 1024).value_or(0);
  read_link(asked, "intra_node", partition.intra_node);
  read_link(asked, "network", partition.network);
  read_link(asked, "pcie", partition.pcie);
  if (const auto* host = asked.find("host", "{ memory: …, memory_bandwidth: … }"))
    read_constants(Map(*host, keys(kHostFields)), kHostFields, asked.presence(), partition);
  if (const auto* slurm = map.find("slurm")) read_slurm(*slurm, partition.slurm);
  if (of_all) override_operation(*of_all, partition.operation);
  if (const auto* own = map.find("operation"))
    override_operation(read_operation(*own), partition.operation);
  partition.stacks.clear();
  read_calibration(map.find("fitted"), partition);
  return partition;
}

void read_partitions(const Map& map, const GpuCatalog& gpus, const plan::Cluster* like,
                     plan::Cluster& cluster) {
  const auto* operation = map.find("operation");
  const auto of_all = operation ? std::optional(read_operation(*operation)) : std::nullopt;
  const auto* field =
      RequiredField{map, like == nullptr}.find("partitions", "a list with a '- name: …' for each");
  if (!field && like) cluster.partitions = like->partitions;
  for (auto& partition : cluster.partitions)
    if (of_all) override_operation(*of_all, partition.operation);
  const auto items = field ? field->list() : std::nullopt;
  if (!items) return;
  if (items->empty()) field->problem("the list is empty", "describe at least one partition");
  for (const auto& item : *items) {
    auto partition = read_partition(item, gpus, like, of_all);
    if (!partition.name.empty() && cluster.find(partition.name))
      item.problem(fmt::format("a second partition is called '{}'", printable(partition.name)),
                   "give each partition a name of its own");
    cluster.partitions.push_back(std::move(partition));
  }
}

void read_launch(const RequiredField& asked, plan::Cluster& cluster) {
  static const std::vector<std::string> ways{"slurm", "local", "auto"};
  const auto* field = asked.find("launch", "slurm, local or auto");
  const auto launch = field ? field->text() : std::nullopt;
  if (!launch) return;
  if (!contains(ways, *launch))
    field->problem(fmt::format("'{}' is not a way to launch", printable(*launch)),
                   suggestion(*launch, ways));
  cluster.launch = *launch;
}

plan::MeasuredConstants read_measured(const YamlField& field) {
  const Map map(field, {"machine", "date"});
  plan::MeasuredConstants measured;
  if (const auto* machine = map.require("machine", "\"Neoverse-N1 x 2\""))
    measured.machine = machine->text().value_or("");
  if (const auto* date = map.require("date", "\"2026-11-15\"")) {
    measured.date = date->text().value_or("");
    if (!parse_date(measured.date))
      date->problem(fmt::format("'{}' is not a date", printable(measured.date)),
                    "write it like \"2026-11-15\"");
  }
  return measured;
}

// Experiments refer to a cluster by its file's name: the name inside must be the same.
void check_file_name(const Map& map, const plan::Cluster& cluster) {
  const auto stem = fs::path(cluster.file).stem().string();
  if (!cluster.name.empty() && cluster.name != stem)
    map.find("name")->problem(
        fmt::format("'{}' in a file called {}.yaml", printable(cluster.name), printable(stem)),
        "make the name and the file's name the same");
}

// Null where the cluster is like none, or the other one cannot be loaded; then problems are
// reported.
std::shared_ptr<const plan::Cluster> read_like(const Map& map, const FindBase& find_base,
                                               plan::Cluster& cluster) {
  const auto* field = map.find("like");
  const auto wanted = field ? field->text() : std::nullopt;
  if (!wanted) return nullptr;
  if (!find_base) {
    field->problem("no other clusters are known here", "give all fields");
    return nullptr;
  }
  cluster.like = *wanted;
  const auto base = find_base(*wanted);
  if (base) return *base;
  for (auto error : base.error()) {
    if (error.place.empty()) error.place = field->place();
    field->add(error);
  }
  return nullptr;
}

plan::Cluster read_cluster(const YamlField& document, const std::string& file,
                           const GpuCatalog& gpus, const FindBase& find_base) {
  plan::Cluster cluster;
  cluster.file = file;
  const Map map(document, {"name", "doc", "like", "launch", "measured", "operation", "partitions"});
  cluster.name = read_name(map, "the file's name without .yaml");
  check_file_name(map, cluster);
  const auto like = read_like(map, find_base, cluster);
  // Without the base cluster the completeness of the rest cannot be checked.
  if (map.find("like") && !like) return cluster;
  if (like) {
    cluster.launch = like->launch;
    cluster.measured = like->measured;
    cluster.doc = "like " + like->name;
  }
  if (const auto* doc = map.find("doc")) cluster.doc = trim(doc->text().value_or(""));
  read_launch({map, like == nullptr}, cluster);
  if (const auto* measured = map.find("measured")) cluster.measured = read_measured(*measured);
  read_partitions(map, gpus, like.get(), cluster);
  return cluster;
}

}  // namespace

Result<plan::Cluster> parse_cluster(const std::string& text, const std::string& file,
                                    const GpuCatalog& gpus, const FindBase& find_base) {
  YamlReport report{file, {}};
  plan::Cluster cluster;
  if (const auto document = read_document(text, report))
    cluster = read_cluster(*document, file, gpus, find_base);
  if (!report.errors.empty()) return report.errors;
  return cluster;
}

Result<plan::Cluster> load_cluster(const fs::path& file, const GpuCatalog& gpus,
                                   const FindBase& find_base) {
  const auto text = read_yaml_file(file);
  if (!text) return text.error();
  return parse_cluster(*text, printable(file.string()), gpus, find_base);
}

}  // namespace orch::hardware
