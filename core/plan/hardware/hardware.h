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

// A GPU by its datasheet, and how far real kernels stay below it unless a site knows better.
struct GpuProfile {
  plan::Gpu gpu;
  plan::Efficiency efficiency;
  std::string like;  // the GPU whose numbers it has where it gives none; empty: none
  std::string file;  // where it was read from
};

using GpuCatalog = std::map<std::string, GpuProfile, std::less<>>;

// The GPUs of some files; of two with one name, that of the earlier file counts. All problems of a
// file are reported at once; each place is "file:line: path.of.the.field".
Result<GpuCatalog> load_gpus(const std::vector<fs::path>& files);

using StackCatalog = std::map<std::string, plan::StackPtr, std::less<>>;

// The software of some files, as load_gpus reads theirs.
Result<StackCatalog> load_stacks(const std::vector<fs::path>& files);
Result<StackCatalog> parse_stacks(const std::string& text, const std::string& file,
                                  const StackCatalog& below = {});

// Gives every partition of a cluster what each stack makes of it.
void give_stacks(const StackCatalog& stacks, plan::Cluster& cluster);

// Finds the cluster that another is like; an error without a place gets that of the field.
using FindBase = std::function<Result<std::shared_ptr<const plan::Cluster>>(const std::string&)>;

Result<plan::Cluster> load_cluster(const fs::path& file, const GpuCatalog& gpus,
                                   const FindBase& find_base = {});

// "NVIDIA A100-SXM4-80GB" is a100-80g of gpus.yaml: the name whose words are in it, the nearest in
// bytes of memory where several are. Null: none.
const GpuProfile* find_gpu(const GpuCatalog& gpus, const std::string& device, double memory);

// The same from text; the file is only named (a cluster must be called like its file).
Result<GpuCatalog> parse_gpus(const std::string& text, const std::string& file,
                              const GpuCatalog& below = {});
Result<plan::Cluster> parse_cluster(const std::string& text, const std::string& file,
                                    const GpuCatalog& gpus, const FindBase& find_base = {});

// The clusters of some folders, each <name>.yaml, read when first asked for and kept.
class Catalog {
 public:
  // Of two files with one name, that of the earlier folder counts, and of two GPUs that of the
  // earlier file. Nothing is read yet.
  Catalog(std::vector<fs::path> folders, std::vector<fs::path> gpus_files,
          std::vector<fs::path> stacks_files = {});

  // Whether the other one would find the same.
  bool reads_as(const Catalog& other) const;

  Result<std::shared_ptr<const plan::Cluster>> find(std::string_view name);

  // What could be found, sorted; the files need not be sound.
  std::vector<std::string> names() const;

  // A text as if it were the file of the cluster of that name; nothing is kept of it.
  Result<plan::Cluster> parse(const std::string& text, const std::string& file,
                              const std::string& name);

  // What clusters may name as their gpu, and the software that is known.
  Result<GpuCatalog> gpus();
  Result<StackCatalog> stacks();

 private:
  using Found = Result<std::shared_ptr<const plan::Cluster>>;
  // The first folder from the given one on that has a file for the name.
  std::optional<std::size_t> folder_of(std::string_view name, std::size_t from = 0) const;
  Found load(const std::string& name, std::size_t folder);
  Result<plan::Cluster> parse(const std::string& text, const std::string& file,
                              const std::string& name, std::size_t folder);
  Found base_of(const std::string& name, std::size_t folder, const std::string& wanted);
  Error unknown(std::string_view name) const;

  std::vector<fs::path> folders_;
  std::vector<fs::path> gpus_files_;
  std::vector<fs::path> stacks_files_;
  std::vector<std::pair<std::string, std::size_t>> open_;  // being read, each like the next
  std::optional<GpuCatalog> gpus_;
  std::optional<StackCatalog> stacks_;
  std::map<std::string, std::shared_ptr<const plan::Cluster>, std::less<>> clusters_;
};

}  // namespace orch::hardware
