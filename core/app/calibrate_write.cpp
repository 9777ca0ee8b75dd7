#include <fmt/format.h>

#include <map>

#include "core/app/calibrate.h"
#include "core/base/text.h"
#include "core/plan/hardware/hardware.h"
#include "core/plan/hardware/write.h"

namespace orch::app {
namespace {

// A cluster is called like its file: the value of the first line that begins with "name:".
void rename(std::string& text, const std::string& name) {
  std::size_t at = text.starts_with("name:") ? 0 : text.find("\nname:");
  if (at == std::string::npos) return;
  at = text.find(':', at) + 1;
  text.replace(at, text.find('\n', at) - at, " " + name);
}

// With what the rows said of its partitions; nothing where they said nothing.
Result<std::string> rewritten(const plan::Cluster& cluster, const std::string& name,
                              const Calibrated& calibrated) {
  auto text = read_file(cluster.file);
  const auto& study = calibrated.study;
  for (std::size_t m = 0; m < study.machines.size(); ++m) {
    if (study.clusters[m] != &cluster || study.machines[m].held ||
        calibrated.fitted.machines[m].constants.empty())
      continue;
    for (const auto* partition : study.machines[m].partitions) {
      if (!text) return text.error();
      text = hardware::with_calibration(*text, partition->name, calibrated.fitted.machines[m],
                                        cluster.file);
    }
  }
  if (text && name != cluster.name) rename(*text, name);
  return text;
}

// The file of stacks with what the rows said of those that are in it.
Result<std::string> stacks_text(const Calibrated& calibrated, const std::string& file) {
  auto text = read_file(file);
  for (const auto& stack : calibrated.fitted.stacks) {
    if (!text) return text;
    if (stack.seen.rows > 0) text = hardware::with_factors(*text, stack, file);
  }
  if (!text) return text;
  if (const auto again = hardware::parse_stacks(*text, file); !again) return again.error();
  return text;
}

// The text must be read again as the same cluster with other calibrations.
Status check_again(const plan::Cluster& cluster, const std::string& text, const fs::path& to,
                   hardware::Catalog& clusters) {
  const Error lost{printable(cluster.file), "the file's form is not one that can be rewritten",
                   "write `fitted:` as a block below its partition, as jean-zay.yaml does"};
  const auto again = clusters.parse(text, to.string(), cluster.name);
  if (!again || again->partitions.size() != cluster.partitions.size()) return lost;
  for (std::size_t i = 0; i < cluster.partitions.size(); ++i) {
    const auto &a = cluster.partitions[i], &b = again->partitions[i];
    if (a.name != b.name || a.gpu.name != b.gpu.name || a.slurm.setup != b.slurm.setup) return lost;
  }
  return {};
}

}  // namespace

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

Status write_calibrated(App& app, const Calibrated& calibrated, const CalibrateArguments& arguments,
                        Console& console) {
  std::map<std::string, const plan::Cluster*> clusters;
  for (std::size_t m = 0; m < calibrated.study.machines.size(); ++m)
    if (!calibrated.study.machines[m].held)
      clusters[calibrated.study.clusters[m]->name] = calibrated.study.clusters[m];
  if (!arguments.output.empty() && clusters.size() > 1) {
    const auto named = clusters.find(fs::path(arguments.output).stem().string());
    if (named == clusters.end())
      return Error{"--output", "the rows are of several clusters",
                   "call the file like one of them, or use --write"};
    clusters = {*named};
  }
  if (arguments.output.empty() && !arguments.write) clusters.clear();
  std::map<std::string, std::string> texts;
  for (const auto& [name, cluster] : clusters) {
    const fs::path to(arguments.output.empty() ? cluster->file : arguments.output);
    auto text = rewritten(*cluster, to.stem().string(), calibrated);
    if (!text) return text.error();
    if (auto status = check_again(*cluster, *text, to, app.clusters()); !status) return status;
    texts[to.string()] = std::move(*text);
  }
  if (!arguments.stacks.empty()) {
    auto stacks = stacks_text(calibrated, arguments.stacks);
    if (!stacks) return stacks.error();
    texts[arguments.stacks] = std::move(*stacks);
  }
  for (const auto& [to, text] : texts) {
    if (auto status = write_output(to, text); !status) return status;
    console.note(fmt::format("written to {}\n", printable(to)));
  }
  return {};
}

}  // namespace orch::app
