#include "core/hardware/write.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "core/hardware/constants.h"

namespace orch::hardware {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string value_text(double value, Unit unit) {
  switch (unit) {
    case Unit::bytes:
      return fmt::format("{:.6g} MiB", value / 1048576);
    case Unit::bytes_per_second:
      return fmt::format("{:.5g} GB/s", value / 1e9);
    case Unit::seconds:
      return fmt::format("{:.5g} us", value * 1e6);
    case Unit::flops:
      return fmt::format("{:.5g} GFLOPs", value / 1e9);
    default:
      return fmt::format("{:.5g}", value);
  }
}

// A constant without an origin is one that nobody gave.
template <class T, std::size_t N>
void add(std::vector<NamedConstant>& to, const std::string& block, const T& from,
         const std::array<ConstantField<T>, N>& fields) {
  for (const auto& field : fields) {
    const auto& constant = from.*field.member;
    if (constant.origin.empty()) continue;
    to.push_back({block + "." + std::string(field.key),
                  value_text(constant.value, field.kind->unit), constant});
  }
}

std::string partition_text(const plan::Partition& partition) {
  auto out =
      fmt::format("  - name: {}\n    gpu: {}\n    gpus_per_node: {}\n    nodes: {}\n",
                  partition.name, partition.gpu.name, partition.gpus_per_node, partition.nodes);
  if (partition.measured_ranks > 0)
    out += fmt::format("    measured_ranks: {}\n", partition.measured_ranks);
  std::string open;
  for (const auto& [name, value, constant] : named_constants(partition)) {
    const auto dot = name.find('.');
    if (const auto block = name.substr(0, dot); block != open) {
      out += fmt::format("    {}:\n", block);
      open = block;
    }
    out += fmt::format("      {}: {{ value: {}, origin: {} }}\n", name.substr(dot + 1), value,
                       quoted(constant.origin));
  }
  return out;
}

}  // namespace

std::vector<NamedConstant> named_constants(const plan::Partition& partition) {
  std::vector<NamedConstant> out;
  add(out, "gpu_constants", partition.gpu, kGpuFields);
  add(out, "intra_node", partition.intra_node, kLinkFields);
  add(out, "network", partition.network, kLinkFields);
  add(out, "pcie", partition.pcie, kLinkFields);
  add(out, "host", partition, kHostFields);
  add(out, "efficiency", partition.efficiency, kEfficiencyFields);
  return out;
}

std::string cluster_text(const plan::Cluster& cluster, const std::string& comment) {
  std::string out;
  for (const auto& line : split(comment, '\n')) out += "# " + printable(line) + "\n";
  out += fmt::format("\nname: {}\n", cluster.name);
  if (!cluster.doc.empty()) out += fmt::format("doc: {}\n", quoted(cluster.doc));
  out += fmt::format("launch: {}\n", cluster.launch);
  if (cluster.measured)
    out += fmt::format("measured: {{ machine: {}, date: {} }}\n", quoted(cluster.measured->machine),
                       quoted(cluster.measured->date));
  out += "\npartitions:\n";
  for (const auto& partition : cluster.partitions) out += partition_text(partition);
  return out;
}

}  // namespace orch::hardware
