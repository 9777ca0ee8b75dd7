#include "core/app/cluster_file.h"

#include "core/base/text.h"
#include "core/plan/hardware/hardware.h"

namespace orch::app {

Status check_cluster_file(const std::string& output) {
  if (output.empty()) return {};
  const fs::path path(output);
  const auto place = "--output " + printable(output);
  if (path.extension() != ".yaml" || !is_plain_name(path.stem().string()))
    return Error{place, "is not <name>.yaml", "a cluster is called like its file"};
  std::error_code code;
  if (!fs::exists(path, code)) return {};
  if (!fs::is_regular_file(path, code)) return Error{place, "is not a file", "give another name"};
  const auto text = read_file(path);
  if (!text || text->find("partitions:") == std::string::npos)
    return Error{place, "exists already and is not a cluster file", "give another name"};
  return {};
}

fs::path cluster_file(const plan::Cluster& cluster, const std::string& output) {
  return output.empty() ? cluster.file : output;
}

void rename_cluster(std::string& text, const std::string& name) {
  std::size_t at = text.starts_with("name:") ? 0 : text.find("\nname:");
  if (at == std::string::npos) return;
  at = text.find(':', at) + 1;
  text.replace(at, text.find('\n', at) - at, " " + name);
}

Result<plan::Cluster> read_again(const plan::Cluster& cluster, const std::string& text,
                                 const fs::path& to, hardware::Catalog& clusters) {
  const Error lost{
      printable(cluster.file), "the file cannot be rewritten in place",
      "write `fitted:`, `operation:` and links as blocks of their own, without & and *"};
  auto again = clusters.parse(text, to.string(), cluster.name);
  if (!again || again->partitions.size() != cluster.partitions.size()) return lost;
  for (std::size_t i = 0; i < cluster.partitions.size(); ++i) {
    const auto &a = cluster.partitions[i], &b = again->partitions[i];
    if (a.name != b.name || a.gpu.name != b.gpu.name || a.slurm.setup != b.slurm.setup) return lost;
  }
  return again;
}

}  // namespace orch::app
