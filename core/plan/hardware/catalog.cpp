#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/plan/hardware/hardware.h"
#include "core/plan/hardware/yaml.h"

namespace orch::hardware {

Catalog::Catalog(std::vector<fs::path> folders, std::vector<fs::path> gpus_files,
                 std::vector<fs::path> stacks_files)
    : folders_(std::move(folders)),
      gpus_files_(std::move(gpus_files)),
      stacks_files_(std::move(stacks_files)) {}

bool Catalog::reads_as(const Catalog& other) const {
  return folders_ == other.folders_ && gpus_files_ == other.gpus_files_ &&
         stacks_files_ == other.stacks_files_;
}

Catalog::FoundCluster Catalog::find(std::string_view name) {
  if (const auto known = clusters_.find(name); known != clusters_.end()) return known->second;
  const auto folder = folder_of(name);
  if (!folder) return unknown(name);
  const auto cluster = load(std::string(name), *folder);
  if (cluster) clusters_.emplace(name, *cluster);
  return cluster;
}

Result<GpuCatalog> Catalog::gpus() {
  if (!gpus_) {
    auto gpus = load_gpus(gpus_files_);
    if (!gpus) return gpus.error();
    gpus_ = std::move(*gpus);
  }
  return *gpus_;
}

Result<StackCatalog> Catalog::stacks() {
  if (!stacks_) {
    auto stacks = load_stacks(stacks_files_);
    if (!stacks) return stacks.error();
    stacks_ = std::move(*stacks);
  }
  return *stacks_;
}

Catalog::FoundCluster Catalog::load(const std::string& name, std::size_t folder) {
  const auto file = folders_[folder] / (name + ".yaml");
  const auto text = read_yaml_file(file);
  if (!text) return text.error();
  auto cluster = parse(*text, printable(file.string()), name, folder);
  if (!cluster) return cluster.error();
  const auto known = stacks();
  if (!known) return known.error();
  give_stacks(*known, *cluster);
  return std::make_shared<const plan::Cluster>(std::move(*cluster));
}

Result<plan::Cluster> Catalog::parse(const std::string& text, const std::string& file,
                                     const std::string& name) {
  return parse(text, file, name, folder_of(name).value_or(folders_.size()));
}

Result<plan::Cluster> Catalog::parse(const std::string& text, const std::string& file,
                                     const std::string& name, std::size_t folder) {
  if (const auto ready = gpus(); !ready) return ready.error();
  open_.emplace_back(name, folder);
  auto cluster = parse_cluster(
      text, file, *gpus_, [&](const std::string& wanted) { return base_of(name, folder, wanted); });
  open_.pop_back();
  return cluster;
}

// A cluster that is like its own name refers to a cluster of a later folder: jean-zay with another
// account.
Catalog::FoundCluster Catalog::base_of(const std::string& name, std::size_t folder,
                                       const std::string& wanted) {
  const auto found = folder_of(wanted, wanted == name ? folder + 1 : 0);
  if (!found && wanted == name)
    return Error{"", fmt::format("'{}' is like itself", printable(name)),
                 "name another cluster: no later folder has one of this name"};
  if (!found) return unknown(wanted);
  const std::pair base{wanted, *found};
  const auto first = std::find(open_.begin(), open_.end(), base);
  if (first == open_.end()) return load(wanted, *found);
  std::vector<std::string> names;
  for (auto at = first; at != open_.end(); ++at) names.push_back(at->first);
  names.push_back(wanted);
  return Error{"", "circular: " + join(names, " is like "), "let one of them have its own numbers"};
}

std::vector<std::string> Catalog::names() const {
  std::set<std::string> names;
  for (const auto& folder : folders_)  // a folder that does not exist contains nothing
    for (const auto& file : entries_of(folder)) {
      const auto stem = file.stem().string();
      if (file.extension() == ".yaml" && is_plain_name(stem)) names.insert(stem);
    }
  return {names.begin(), names.end()};
}

// A plain name only: a cluster called ../../x must not lead out of the folders.
std::optional<std::size_t> Catalog::folder_of(std::string_view name, std::size_t from) const {
  if (!is_plain_name(name)) return std::nullopt;
  for (auto i = from; i < folders_.size(); ++i) {
    std::error_code ignored;
    if (fs::exists(folders_[i] / (std::string(name) + ".yaml"), ignored)) return i;
  }
  return std::nullopt;
}

Error Catalog::unknown(std::string_view name) const {
  const auto known = names();
  const auto places = printable(join(mapped(folders_, &fs::path::native), ", "));
  auto fact = fmt::format("no cluster is called '{}'", printable(name));
  if (known.empty())
    return {"", std::move(fact), fmt::format("there are no .yaml files in {}", places)};
  const auto near = nearest(name, known);
  return {"", std::move(fact),
          fmt::format("{}there are: {} (in {})", near ? "did you mean '" + *near + "'? " : "",
                      join(known, ", "), places)};
}

}  // namespace orch::hardware
