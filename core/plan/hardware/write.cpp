#include "core/plan/hardware/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "core/plan/hardware/constants.h"

namespace orch::hardware {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

namespace {

std::string value_text(double value, Unit unit) {
  switch (unit) {
    case Unit::bytes:
      return value < kGiB ? fmt::format("{:.6g} MiB", value / 1048576)
                          : fmt::format("{:.6g} GiB", value / kGiB);
    case Unit::bytes_per_second:
      return fmt::format("{:.5g} GB/s", value / 1e9);
    case Unit::seconds:
      if (value >= 1 || value == 0) return fmt::format("{:.5g} s", value);
      return fmt::format("{:.5g} us", value * 1e6);
    case Unit::watts:
      return fmt::format("{:.5g} W", value);
    case Unit::flops:
      return value < 1e12 ? fmt::format("{:.5g} GFLOPs", value / 1e9)
                          : fmt::format("{:.5g} TFLOPs", value / 1e12);
    default:
      return fmt::format("{:.5g}", value);
  }
}

// A constant without an origin was not given.
void add(std::vector<NamedConstant>& to, std::string name, const plan::Constant& constant,
         Unit unit) {
  if (!constant.origin.empty())
    to.push_back({std::move(name), value_text(constant.value, unit), constant});
}

template <class T, std::size_t N>
void add(std::vector<NamedConstant>& to, const std::string& block, const T& from,
         const std::array<ConstantField<T>, N>& fields) {
  for (const auto& field : fields)
    add(to, block + "." + std::string(field.key), from.*field.member, field.kind->unit);
}

std::string partition_text(const plan::Partition& partition) {
  auto out =
      fmt::format("  - name: {}\n    gpu: {}\n    gpus_per_node: {}\n    nodes: {}\n",
                  partition.name, partition.gpu.name, partition.gpus_per_node, partition.nodes);
  if (partition.gpus_per_domain > 0)
    out += fmt::format("    gpus_per_domain: {}\n", partition.gpus_per_domain);
  if (partition.measured_ranks > 0)
    out += fmt::format("    measured_ranks: {}\n", partition.measured_ranks);
  std::vector<std::string> open;  // the maps that the previous line was in
  for (const auto& [name, value, constant] : named_constants(partition)) {
    auto path = split(name, '.');
    const auto key = path.back();
    path.pop_back();
    std::size_t same = 0;
    while (same < std::min(path.size(), open.size()) && path[same] == open[same]) ++same;
    for (auto depth = same; depth < path.size(); ++depth)
      out += fmt::format("{:{}}{}:\n", "", 4 + 2 * depth, path[depth]);
    out += fmt::format("{:{}}{}: {{ value: {}, origin: {} }}\n", "", 4 + 2 * path.size(), key,
                       value, quoted(constant.origin));
    open = std::move(path);
  }
  return out;
}

}  // namespace

std::vector<NamedConstant> named_constants(const plan::Partition& partition) {
  std::vector<NamedConstant> out;
  add(out, "gpu_constants", partition.gpu, kGpuFields);
  for (const auto& [format, peak] : partition.gpu.peaks)
    add(out, "gpu_constants.peak." + format, peak, Unit::flops);
  add(out, "intra_node", partition.intra_node, kLinkFields);
  add(out, "network", partition.network, kLinkFields);
  add(out, "pcie", partition.pcie, kLinkFields);
  add(out, "host", partition, kHostFields);
  add(out, "efficiency", partition.efficiency, kEfficiencyFields);
  const auto& operation = partition.operation;
  add(out, "operation", operation, kOperationFields);
  for (const auto& [name, price] : {std::pair("operation.price", &operation.price),
                                    std::pair("operation.node_price", &operation.node_price)})
    if (!price->origin.empty())
      out.push_back({name, fmt::format("{:.5g} {}", price->value, operation.currency), *price});
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
