#include <fmt/format.h>

#include <set>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/hardware/write.h"
#include "core/plan/tunable.h"

namespace orch::app {
namespace {

// "a doc (like dgx-h100)".
std::string described(const plan::Cluster& cluster) {
  const auto like = "like " + cluster.like;
  if (cluster.like.empty() || cluster.doc == like) return cluster.doc;
  return fmt::format("{} ({})", cluster.doc, like);
}

// A partition of a cluster.
struct ClusterPart {
  std::shared_ptr<const plan::Cluster> cluster;
  const plan::Partition* partition = nullptr;
};

std::string peak_text(const plan::Gpu& gpu) {
  const bool has_bf16 = gpu.peak("bf16").value > 0;
  return fmt::format("{:.4g}{}", gpu.peak(has_bf16 ? "bf16" : "fp16").value / 1e12,
                     has_bf16 ? "" : " (fp16)");
}

std::set<std::string> formats_of(const std::vector<const ClusterPart*>& parts) {
  std::set<std::string> out;
  for (const auto* part : parts)
    for (const auto& [format, peak] : part->partition->gpu.peaks) out.insert(format);
  return out;
}

show::Cell known(double value) { return value > 0 ? show::Cell(value) : show::Cell(); }

void add_for_programs(show::Columns<ClusterPart>& to) {
  to.add("doc", [](const ClusterPart& p) { return p.cluster->doc; });
  to.add("like", [](const ClusterPart& p) { return p.cluster->like; });
  to.add("file", [](const ClusterPart& p) { return p.cluster->file; });
  to.add("gpus_per_domain", [](const ClusterPart& p) { return p.partition->domain(); });
  to.add("memory_bytes", [](const ClusterPart& p) { return p.partition->gpu.memory.value; });
  to.add("memory_bandwidth",
         [](const ClusterPart& p) { return p.partition->gpu.memory_bandwidth.value; });
  for (const auto& format : formats_of(to.rows()))
    to.add("peak_" + format,
           [format](const ClusterPart& p) { return known(p.partition->gpu.peak(format).value); });
  to.add("intra_node_bandwidth",
         [](const ClusterPart& p) { return p.partition->intra_node.bandwidth.value; });
  to.add("network_bandwidth",
         [](const ClusterPart& p) { return p.partition->network.bandwidth.value; });
}

show::Table partitions_table(std::vector<ClusterPart> parts, const OrchFolders& places) {
  show::Columns<ClusterPart> columns(std::move(parts));
  columns.add("cluster", "cluster", 0, [](const ClusterPart& p) { return p.cluster->name; });
  columns.add("partition", "partition", 0, [](const ClusterPart& p) { return p.partition->name; });
  columns.add("gpu", "gpu", 1, [](const ClusterPart& p) { return p.partition->gpu.name; });
  columns.add("gpus_per_node", "per node", 2,
              [](const ClusterPart& p) { return p.partition->gpus_per_node; });
  columns.add("nodes", "nodes", 2, [](const ClusterPart& p) { return p.partition->nodes; });
  columns.add("", "bf16 TFLOPs", 3,
              [](const ClusterPart& p) { return peak_text(p.partition->gpu); });
  columns.add("", "GiB", 3,
              [](const ClusterPart& p) { return format_gib(p.partition->gpu.memory.value); });
  const auto from = [&](const ClusterPart& p) { return places.source(p.cluster->file); };
  if (std::ranges::any_of(columns.rows(),
                          [&](const ClusterPart* p) { return from(*p) != "shipped"; }))
    columns.add("", "from", 4, from);
  add_for_programs(columns);
  columns.add("", "what", 0, [](const ClusterPart& p) { return described(*p.cluster); });
  return columns.table("partitions");
}

// A constant of a partition.
struct NamedCluster {
  std::string partition, name, text;
  plan::Constant constant;
};

// The partition's own constants, by their names in the file.
std::vector<NamedCluster> named_of(const plan::Partition& partition) {
  std::vector<NamedCluster> out;
  for (const auto& [name, value, constant] : hardware::named_constants(partition))
    out.push_back({partition.name, name, value, constant});
  return out;
}

// The constants fitted to measured rows.
std::vector<NamedCluster> fitted_of(const plan::Partition& partition) {
  std::vector<NamedCluster> out;
  if (!partition.calibration) return out;
  const auto& calibration = *partition.calibration;
  for (const auto& tunable : plan::all_tunables()) {
    const auto found = calibration.constants.find(std::string(tunable.name));
    if (found == calibration.constants.end()) continue;
    const auto& [name, constant] = *found;
    out.push_back({partition.name, name, plan::shown(name, constant.value), constant});
  }
  for (const auto& era : calibration.eras)
    out.push_back({partition.name, "time until " + era.until, fmt::format("{:.4g}", era.time.value),
                   era.time});
  return out;
}

show::Table named_table(const char* name, const char* head, std::string title,
                        std::vector<NamedCluster> rows) {
  show::Columns<NamedCluster> columns(std::move(rows));
  columns.add("partition", [](const NamedCluster& n) { return n.partition; });
  columns.add("name", head, 0, [](const NamedCluster& n) { return n.name; });
  columns.add("value", "value", 0,
              [](const NamedCluster& n) { return show::Cell(n.constant.value, n.text); });
  columns.add("origin", "origin", 0, [](const NamedCluster& n) { return n.constant.origin; });
  return columns.table(name, std::move(title));
}

// The origin of a cluster and its GPUs, and what they inherit from.
std::string origin_text(hardware::Catalog& catalog, const plan::Cluster& cluster) {
  auto out = fmt::format("{}: {}\n{}read from {}\n", cluster.name, cluster.doc,
                         cluster.like.empty() ? "" : "like " + cluster.like + "; ", cluster.file);
  const auto gpus = catalog.gpus();
  std::set<std::string> told;
  for (const auto& partition : cluster.partitions)
    if (const auto gpu = gpus->find(partition.gpu.name);
        gpu != gpus->end() && told.insert(gpu->first).second)
      out += fmt::format("{}: {}{}\n", gpu->first,
                         gpu->second.like.empty() ? "" : "like " + gpu->second.like + "; ",
                         "read from " + gpu->second.file);
  return out;
}

// A table for each partition, and for programs one table of all.
show::Answer cluster_answer(hardware::Catalog& catalog, const plan::Cluster& cluster,
                            show::Table partitions) {
  show::Answer out{
      cluster.name, origin_text(catalog, cluster), {show::for_programs(std::move(partitions))}};
  std::vector<NamedCluster> constants, fitted;
  for (const auto& partition : cluster.partitions) {
    const auto add = [&](const char* head, const std::string& title, std::vector<NamedCluster> some,
                         std::vector<NamedCluster>& all) {
      all.insert(all.end(), some.begin(), some.end());
      if (!some.empty()) out.sections.push_back(named_table("", head, title, std::move(some)));
    };
    add("constant",
        fmt::format("{}: {} nodes of {} x {}", partition.name, partition.nodes,
                    partition.gpus_per_node, partition.gpu.name),
        named_of(partition), constants);
    add("fitted", partition.name + ", fitted", fitted_of(partition), fitted);
  }
  out.sections.push_back(
      show::for_programs(named_table("constants", "", "", std::move(constants))));
  out.sections.push_back(show::for_programs(named_table("fitted", "", "", std::move(fitted))));
  return out;
}

}  // namespace

Ending clusters_command(const ListArguments& arguments, Console& console) {
  auto places = find_places();
  if (!places) return places.error();
  places->beside = ".";
  hardware::Catalog catalog(places->cluster_folders(), places->gpus(), places->stacks());
  const bool all = arguments.name.empty();
  std::vector<ClusterPart> parts;
  Errors errors;
  for (const auto& name : all ? catalog.names() : std::vector{arguments.name}) {
    const auto cluster = catalog.find(name);
    if (!errors.add(cluster)) continue;
    for (const auto& partition : (*cluster)->partitions) parts.push_back({*cluster, &partition});
  }
  if (!all && !errors.empty()) return errors;
  const auto cluster = all ? nullptr : parts.front().cluster;
  auto table = partitions_table(std::move(parts), *places);
  arguments.common.give(all ? show::Answer{"", "", {std::move(table)}}
                            : cluster_answer(catalog, *cluster, std::move(table)),
                        console);
  return errors.empty() ? Ending(Exit::ok) : errors;
}

}  // namespace orch::app
