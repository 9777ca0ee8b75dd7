#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/base/text.h"
#include "core/record/published/samples.h"

namespace orch::published {
namespace {

using plan::Cluster, plan::Partition;
using record::Record;
using ClusterPtr = std::shared_ptr<const Cluster>;

bool is(const Partition& partition, const std::string& gpu) {
  return partition.gpu.name == gpu || partition.name == gpu;
}

// "a100" matches any variant.
std::vector<const Partition*> like(const Cluster& cluster, const std::string& gpu) {
  std::vector<const Partition*> found;
  for (const auto& partition : cluster.partitions)
    if (is(partition, gpu) || partition.gpu.name.starts_with(gpu + "-"))
      found.push_back(&partition);
  const auto exact = std::find_if(found.begin(), found.end(),
                                  [&](const Partition* partition) { return is(*partition, gpu); });
  return exact == found.end() ? found : std::vector{*exact};
}

// A row with other GPUs per node, or with more nodes than the partition has, did not run here.
bool contradicts(const Record& row, const Partition& partition) {
  return row.whole("gpus_per_node").value_or(partition.gpus_per_node) != partition.gpus_per_node ||
         row.whole("gpus").value_or(0) > partition.gpus_per_node * partition.nodes;
}

bool may_have(const Cluster& cluster, const Record& row, const std::string& gpu) {
  const auto found = like(cluster, gpu);
  return std::any_of(found.begin(), found.end(),
                     [&](const Partition* partition) { return !contradicts(row, *partition); });
}

Result<ClusterPtr> by_gpu(const Record& row, const std::string& gpu, const SampleMachines& machines,
                          std::vector<std::string>& assumed) {
  if (gpu.empty())
    return Error{"site", "neither the site nor the GPU is given", "give --cluster and --set gpu=…"};
  std::vector<std::string> owners;
  ClusterPtr owner;
  for (const auto& name : machines.names) {
    const auto cluster = machines.find(name);
    if (!cluster || !may_have(**cluster, row, gpu)) continue;
    owners.push_back(name);
    owner = *cluster;
  }
  if (owners.size() == 1) {
    assumed.push_back(fmt::format("site {}: the one cluster with {}", owners.front(), gpu));
    return owner;
  }
  const auto per_node = row.whole("gpus_per_node");
  if (owners.empty())
    return Error{"site",
                 fmt::format("names none, and no cluster has the GPU '{}'{}", printable(gpu),
                             per_node ? fmt::format(" on nodes of {}", *per_node) : ""),
                 "name a cluster with --cluster"};
  return Error{"site", fmt::format("names none, and {} have {}", join(owners, ", "), gpu),
               "name a cluster with --cluster"};
}

Result<ClusterPtr> cluster_of(const Record& row, const SampleMachines& machines,
                              std::vector<std::string>& assumed) {
  const auto site = row.field_text("cluster");
  if (contains(machines.names, site)) return machines.find(site);
  if (!machines.otherwise.empty()) {
    assumed.push_back("site " + machines.otherwise + ", as asked");
    return machines.find(machines.otherwise);
  }
  if (site.empty()) return by_gpu(row, plain_gpu(row.field_text("gpu")), machines, assumed);
  const auto near = nearest(site, machines.names);
  return Error{"site", "no cluster '" + printable(site) + "'",
               near ? "did you mean '" + *near + "'?" : "name a cluster with --cluster"};
}

Result<const Partition*> partition_of(const Record& row, const Cluster& cluster,
                                      std::vector<std::string>& assumed) {
  std::vector<std::string> gpus;
  for (const auto& partition : cluster.partitions) gpus.push_back(partition.gpu.name);
  const auto said = row.field_text("gpu");
  if (said.empty() && cluster.partitions.size() > 1)
    return Error{"gpu", "names none, and " + cluster.name + " has several",
                 "one of: " + join(gpus, ", ")};
  const auto gpu = plain_gpu(said);
  const auto found = said.empty() ? std::vector{&cluster.partitions.front()} : like(cluster, gpu);
  if (found.size() != 1)
    return Error{"gpu", fmt::format("{} has no '{}'", cluster.name, printable(said)),
                 suggestion(gpu, gpus)};
  if (found.front()->gpu.name != gpu) assumed.push_back("gpu " + found.front()->gpu.name);
  return found.front();
}

}  // namespace

std::string plain_gpu(std::string_view gpu) {
  std::string out;
  for (const char c : gpu) {
    const bool gap = c == ' ' || c == '_' || c == '-';
    if (gap && (out.empty() || out.back() == '-')) continue;
    out += gap ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (out.starts_with("nvidia-")) out.erase(0, 7);
  if (out.starts_with("tesla-")) out.erase(0, 6);
  for (const std::string_view form : {"-sxm5", "-sxm4", "-sxm3", "-sxm2", "-sxm"})
    if (const auto at = out.find(form); at != std::string::npos) out.erase(at, form.size());
  if (out.ends_with("gb")) out.pop_back();
  return out;
}

Result<SampleMachine> machine_of(const Record& row, const SampleMachines& machines,
                                 std::vector<std::string>& assumed) {
  const auto cluster = cluster_of(row, machines, assumed);
  if (!cluster) return cluster.error();
  const auto partition = partition_of(row, **cluster, assumed);
  if (!partition) return partition.error();
  const auto per_node = (*partition)->gpus_per_node;
  const auto said = row.whole("gpus_per_node").value_or(per_node);
  if (said != per_node)
    assumed.push_back(fmt::format("nodes of {} GPUs, as {} has them, not of {}", per_node,
                                  (*cluster)->name, said));
  return SampleMachine{*cluster, *partition};
}

}  // namespace orch::published
