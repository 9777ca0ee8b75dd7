#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/text.h"
#include "core/hardware/constants.h"
#include "core/hardware/hardware.h"
#include "core/hardware/yaml.h"

namespace orch::hardware {
namespace {

GpuProfile read_gpu(const std::string& name, const Field& field) {
  GpuProfile profile;
  profile.gpu.name = name;
  if (!is_plain_name(name))
    field.problem("not a name for a GPU", "use letters, digits, '.', '_' and '-'");
  auto known = keys(kGpuFields);
  known.emplace_back("efficiency");
  const Map map(field, known);
  read_constants(map, kGpuFields, Presence::as_required, profile.gpu);
  check_gpu(profile.gpu, field);
  if (const auto* block = map.require("efficiency", "{ gemm: …, attention: …, … }"))
    read_constants(Map(*block, keys(kEfficiencyFields)), kEfficiencyFields, Presence::as_required,
                   profile.efficiency);
  return profile;
}

}  // namespace

Result<GpuCatalog> parse_gpus(const std::string& text, const std::string& file) {
  Report report{file, {}};
  GpuCatalog gpus;
  if (const auto document = read_document(text, report)) {
    const Map map(*document);
    for (const auto& [name, field] : map.entries()) gpus.emplace(name, read_gpu(name, field));
  }
  if (!report.errors.empty()) return report.errors;
  return gpus;
}

Result<GpuCatalog> load_gpus(const fs::path& file) {
  const auto text = read_yaml_file(file);
  if (!text) return text.error();
  return parse_gpus(*text, printable(file.string()));
}

const GpuProfile* find_gpu(const GpuCatalog& gpus, const std::string& device, double memory) {
  const auto name = lower(device);
  const GpuProfile* best = nullptr;
  std::pair<std::ptrdiff_t, double> least{};
  for (const auto& [known, profile] : gpus) {
    const auto words = split(known, '-');
    const auto is_there = [&](const auto& word) { return name.find(word) != std::string::npos; };
    if (known == "cpu" || !is_there(words.front())) continue;
    const auto missing = std::count_if(words.begin(), words.end(), std::not_fn(is_there));
    const std::pair off{missing, std::abs(profile.gpu.memory.value - memory)};
    if (!best || off < least) best = &profile, least = off;
  }
  return best;
}

}  // namespace orch::hardware
