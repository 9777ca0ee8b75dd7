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

namespace orch::hardware {

// A GPU by its datasheet, and how far real kernels stay below it unless a site knows better.
struct GpuProfile {
  plan::Gpu gpu;
  plan::Efficiency efficiency;
};

using GpuCatalog = std::map<std::string, GpuProfile, std::less<>>;

// All problems of a file are reported at once; each place is "file:line: path.of.the.field".
Result<GpuCatalog> load_gpus(const fs::path& file);
Result<plan::Cluster> load_cluster(const fs::path& file, const GpuCatalog& gpus);

// "NVIDIA A100-SXM4-80GB" is a100-80g of gpus.yaml: the name whose words are in it, the nearest in
// bytes of memory where several are. Null: none.
const GpuProfile* find_gpu(const GpuCatalog& gpus, const std::string& device, double memory);

// The same from text; the file is only named (a cluster must be called like its file).
Result<GpuCatalog> parse_gpus(const std::string& text, const std::string& file);
Result<plan::Cluster> parse_cluster(const std::string& text, const std::string& file,
                                    const GpuCatalog& gpus);

// The clusters of some folders, each <name>.yaml, read when first asked for and kept.
class Catalog {
 public:
  // Of two files with one name, that of the earlier folder counts. Nothing is read yet.
  Catalog(std::vector<fs::path> folders, fs::path gpus_file);

  Result<std::shared_ptr<const plan::Cluster>> find(std::string_view name);

  // What could be found, sorted; the files need not be sound.
  std::vector<std::string> names() const;

 private:
  std::optional<fs::path> file_of(std::string_view name) const;
  Error unknown(std::string_view name) const;

  std::vector<fs::path> folders_;
  fs::path gpus_file_;
  std::optional<GpuCatalog> gpus_;
  std::map<std::string, std::shared_ptr<const plan::Cluster>, std::less<>> clusters_;
};

}  // namespace orch::hardware
