#include "core/cli/calibrate_write.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "core/base/text.h"
#include "core/hardware/hardware.h"
#include "core/hardware/rewrite.h"

namespace orch::cli {
namespace {

// A partition's calibrations, each new one in the place of that for the same backends; nothing if
// none is new.
std::optional<std::vector<plan::Calibration>> merged(const plan::Partition& partition,
                                                     const std::vector<Fitted>& fitted) {
  auto all = partition.calibrations;
  bool changed = false;
  for (const auto& made : fitted) {
    const auto& own = made.group.partitions;
    if (std::find(own.begin(), own.end(), &partition) == own.end()) continue;
    if (made.calibration.constants.empty()) continue;
    const auto old = std::find_if(all.begin(), all.end(), [&](const auto& one) {
      return one.backends == made.group.backends;
    });
    if (old == all.end())
      all.push_back(made.calibration);
    else
      *old = made.calibration;
    changed = true;
  }
  if (!changed) return std::nullopt;
  return all;
}

// A cluster is called like its file: the value of the first line that begins with "name:".
void rename(std::string& text, const std::string& name) {
  std::size_t at = text.starts_with("name:") ? 0 : text.find("\nname:");
  if (at == std::string::npos) return;
  at = text.find(':', at) + 1;
  text.replace(at, text.find('\n', at) - at, " " + name);
}

Result<std::string> rewritten(const plan::Cluster& cluster, const std::string& name,
                              const std::vector<Fitted>& fitted) {
  auto text = read_file(cluster.file);
  for (const auto& partition : cluster.partitions) {
    if (!text) return text.error();
    if (const auto calibrations = merged(partition, fitted))
      text = hardware::with_calibrations(*text, partition.name, *calibrations, cluster.file);
  }
  if (text && name != cluster.name) rename(*text, name);
  return text;
}

// The text must be read again as the same cluster with other calibrations.
Status check_again(const plan::Cluster& cluster, const std::string& text, const fs::path& to,
                   const hardware::GpuCatalog& gpus) {
  const Error lost{printable(cluster.file), "the file's form is not one that can be rewritten",
                   "write `fitted:` as a block list below its partition, as jean-zay.yaml does"};
  const auto again = hardware::parse_cluster(text, to.string(), gpus);
  if (!again || again->partitions.size() != cluster.partitions.size()) return lost;
  for (std::size_t i = 0; i < cluster.partitions.size(); ++i) {
    const auto &a = cluster.partitions[i], &b = again->partitions[i];
    if (a.name != b.name || a.gpu.name != b.gpu.name || a.slurm.setup != b.slurm.setup) return lost;
  }
  return {};
}

}  // namespace

plan::Partition Fitted::was() const {
  const auto& partition = *group.partitions.front();
  return group.present ? fit::applied(*group.present, partition) : partition;
}

double Fitted::era_was(const std::string& until) const {
  if (group.present)
    for (const auto& era : group.present->eras)
      if (era.until == until) return era.time.value;
  return 1;
}

Status check_output(const std::string& output) {
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
    return Error{place, "is there already and is no cluster", "give another name"};
  return {};
}

Status write_clusters(App& app, const std::vector<Fitted>& fitted, const std::string& output) {
  std::map<std::string, const plan::Cluster*> clusters;
  for (const auto& made : fitted) clusters[made.group.cluster->name] = made.group.cluster;
  if (!output.empty() && clusters.size() > 1)
    return Error{"--output", "the rows are of several clusters",
                 "use --write, or --from a file with the rows of one"};
  const auto gpus = hardware::load_gpus(app.places().gpus());
  if (!gpus) return gpus.error();
  std::vector<std::pair<fs::path, std::string>> texts;
  for (const auto& [name, cluster] : clusters) {
    const fs::path to(output.empty() ? cluster->file : output);
    auto text = rewritten(*cluster, to.stem().string(), fitted);
    if (!text) return text.error();
    if (auto status = check_again(*cluster, *text, to, *gpus); !status) return status;
    texts.emplace_back(to, std::move(*text));
  }
  for (const auto& [to, text] : texts) {
    if (auto status = write_output(to, text); !status) return status;
    std::fputs(fmt::format("written to {}\n", printable(to.string())).c_str(), stderr);
  }
  return {};
}

}  // namespace orch::cli
