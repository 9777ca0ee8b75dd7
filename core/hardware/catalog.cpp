#include <fmt/format.h>

#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/hardware/hardware.h"

namespace orch::hardware {

Catalog::Catalog(std::vector<fs::path> folders, fs::path gpus_file)
    : folders_(std::move(folders)), gpus_file_(std::move(gpus_file)) {}

Result<std::shared_ptr<const plan::Cluster>> Catalog::find(std::string_view name) {
  if (const auto known = clusters_.find(name); known != clusters_.end()) return known->second;
  const auto file = file_of(name);
  if (!file) return unknown(name);
  if (!gpus_) {
    auto gpus = load_gpus(gpus_file_);
    if (!gpus) return gpus.error();
    gpus_ = std::move(*gpus);
  }
  auto cluster = load_cluster(*file, *gpus_);
  if (!cluster) return cluster.error();
  auto kept = std::make_shared<const plan::Cluster>(std::move(*cluster));
  clusters_.emplace(name, kept);
  return kept;
}

std::vector<std::string> Catalog::names() const {
  std::set<std::string> names;
  for (const auto& folder : folders_)  // one that is not there offers nothing
    for (const auto& file : entries_of(folder)) {
      const auto stem = file.stem().string();
      if (file.extension() == ".yaml" && is_plain_name(stem)) names.insert(stem);
    }
  return {names.begin(), names.end()};
}

// A plain name only: a cluster called ../../x must not lead out of the folders.
std::optional<fs::path> Catalog::file_of(std::string_view name) const {
  if (!is_plain_name(name)) return std::nullopt;
  for (const auto& folder : folders_) {
    auto file = folder / (std::string(name) + ".yaml");
    std::error_code ignored;
    if (fs::exists(file, ignored)) return file;
  }
  return std::nullopt;
}

Error Catalog::unknown(std::string_view name) const {
  const auto known = names();
  std::vector<std::string> folders;
  for (const auto& folder : folders_) folders.push_back(printable(folder.string()));
  const auto places = join(folders, ", ");
  auto fact = fmt::format("no cluster is called '{}'", printable(name));
  if (known.empty())
    return {"", std::move(fact), fmt::format("there are no .yaml files in {}", places)};
  const auto near = nearest(name, known);
  return {"", std::move(fact),
          fmt::format("{}there are: {} (in {})", near ? "did you mean '" + *near + "'? " : "",
                      join(known, ", "), places)};
}

}  // namespace orch::hardware
