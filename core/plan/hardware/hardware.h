#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/plan/cluster.h"
#include "core/plan/stack.h"

namespace orch::hardware {

// A GPU with the values of its datasheet, and the default efficiencies of real kernels where a site
// gives none.
struct GpuProfile {
  plan::Gpu gpu;
  plan::Efficiency efficiency;
  std::string like;  // the GPU whose values are the defaults; empty: none
  std::string file;  // where it was read from
};

using GpuCatalog = std::map<std::string, GpuProfile, std::less<>>;

// Loads the GPUs of the files; if two have the same name, the earlier file wins. All problems of a
// file are reported at once; each place is "file:line: path.of.the.field".
Result<GpuCatalog> load_gpus(const std::vector<fs::path>& files);

using StackCatalog = std::map<std::string, plan::StackPtr, std::less<>>;

// Loads software stacks in the same way.
Result<StackCatalog> load_stacks(const std::vector<fs::path>& files);
Result<StackCatalog> parse_stacks(const std::string& text, const std::string& file,
                                  const StackCatalog& below = {});

// Adds to every partition of a cluster its versions for all stacks.
void give_stacks(const StackCatalog& stacks, plan::Cluster& cluster);

// Finds the cluster that another one is like; an error without a place gets that of the field.
using FindBase = std::function<Result<std::shared_ptr<const plan::Cluster>>(const std::string&)>;

Result<plan::Cluster> load_cluster(const fs::path& file, const GpuCatalog& gpus,
                                   const FindBase& find_base = {});

// "NVIDIA A100-SXM4-80GB" is a100-80g of gpus.yaml: the entry whose name's parts all occur in the
// device's name, and the nearest in memory if there are several. Null: none.
const GpuProfile* find_gpu(const GpuCatalog& gpus, const std::string& device, double memory);

// The same from a string; the file name is for messages (and a cluster must be named like its
// file).
Result<GpuCatalog> parse_gpus(const std::string& text, const std::string& file,
                              const GpuCatalog& below = {});
Result<plan::Cluster> parse_cluster(const std::string& text, const std::string& file,
                                    const GpuCatalog& gpus, const FindBase& find_base = {});

// The clusters of some folders, each <name>.yaml, read on first use and cached.
class Catalog {
 public:
  // If two files have the same name, the earlier folder wins, and for GPUs the earlier file.
  // Nothing is read yet.
  Catalog(std::vector<fs::path> folders, std::vector<fs::path> gpus_files,
          std::vector<fs::path> stacks_files = {});

  // True if the other catalog has the same folders and files.
  bool reads_as(const Catalog& other) const;

  Result<std::shared_ptr<const plan::Cluster>> find(std::string_view name);

  // All names that exist, sorted; their files may have errors.
  std::vector<std::string> names() const;

  // Parses text as if it were the file of the cluster of that name; the result is not cached.
  Result<plan::Cluster> parse(const std::string& text, const std::string& file,
                              const std::string& name);

  // The GPUs that clusters may name, and the known software stacks.
  Result<GpuCatalog> gpus();
  Result<StackCatalog> stacks();

 private:
  using FoundCluster = Result<std::shared_ptr<const plan::Cluster>>;
  // The first folder from index `from` on that has a file of that name.
  std::optional<std::size_t> folder_of(std::string_view name, std::size_t from = 0) const;
  FoundCluster load(const std::string& name, std::size_t folder);
  Result<plan::Cluster> parse(const std::string& text, const std::string& file,
                              const std::string& name, std::size_t folder);
  FoundCluster base_of(const std::string& name, std::size_t folder, const std::string& wanted);
  Error unknown(std::string_view name) const;

  std::vector<fs::path> folders_;
  std::vector<fs::path> gpus_files_;
  std::vector<fs::path> stacks_files_;
  std::vector<std::pair<std::string, std::size_t>> open_;  // being read; each is like the next
  std::optional<GpuCatalog> gpus_;
  std::optional<StackCatalog> stacks_;
  std::map<std::string, std::shared_ptr<const plan::Cluster>, std::less<>> clusters_;
};

}  // namespace orch::hardware
