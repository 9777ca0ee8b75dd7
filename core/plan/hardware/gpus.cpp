#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <set>
#include <tuple>

#include "core/base/text.h"
#include "core/plan/hardware/constants.h"
#include "core/plan/hardware/hardware.h"
#include "core/plan/hardware/yaml.h"

namespace orch::hardware {
namespace {

// Reads the entries of one file. An entry that is like another one of the file is read after it,
// whatever their order.
class GpuReader {
 public:
  GpuReader(const Map& map, const std::string& file, const GpuCatalog& below)
      : map_(map), file_(file), below_(below) {}

  GpuCatalog read() {
    for (const auto& [name, field] : map_.entries()) find(name, field);
    return std::move(read_);
  }

 private:
  // The named GPU of this file or of later ones; null, with a report by the field that asked, if
  // there is none. An entry that is like its own name refers to a later file.
  const GpuProfile* base(const std::string& name, const std::string& asker,
                         const YamlField& field) {
    const auto lower = below_.find(name);
    if (name != asker)
      if (const auto* entry = map_.find(name)) return find(name, *entry, &field);
    if (lower != below_.end()) return &lower->second;
    std::set<std::string> names;
    for (const auto& [known, profile] : below_) names.insert(known);
    for (const auto& [known, entry] : map_.entries()) names.insert(known);
    names.erase(asker);
    field.problem(fmt::format("no GPU is called '{}'", printable(name)),
                  suggestion(name, std::vector<std::string>(names.begin(), names.end())));
    return nullptr;
  }

  const GpuProfile* find(const std::string& name, const YamlField& field,
                         const YamlField* asker = nullptr) {
    if (const auto known = read_.find(name); known != read_.end()) return &known->second;
    if (!open_.insert(name).second) {
      asker->problem(fmt::format("circular: '{}' is like itself in the end", printable(name)),
                     "let one of them have its own numbers");
      return nullptr;
    }
    auto profile = read_gpu(name, field);
    open_.erase(name);
    return &read_.emplace(name, std::move(profile)).first->second;
  }

  GpuProfile read_gpu(const std::string& name, const YamlField& field) {
    GpuProfile profile;
    if (!is_plain_name(name))
      field.problem("not a name for a GPU", "use letters, digits, '.', '_' and '-'");
    auto presence = Presence::as_required;
    const Map fields(field);
    if (const auto* like = fields.find("like")) {
      presence = Presence::all_optional;  // without its base, no other field is required
      const auto wanted = like->text();
      const auto* found = wanted ? base(*wanted, name, *like) : nullptr;
      if (found) profile = *found;
      profile.like = wanted.value_or("");
    }
    profile.gpu.name = name;
    profile.file = file_;
    const auto map =
        read_gpu_constants(field, {"like", "efficiency", "released"}, presence, profile.gpu);
    if (const auto* year = map.find("released"))
      profile.gpu.released = year->integer(1990, 2100).value_or(0);
    const auto* block = presence == Presence::as_required
                            ? map.require("efficiency", "{ gemm: …, attention: …, … }")
                            : map.find("efficiency");
    if (block)
      read_constants(Map(*block, keys(kEfficiencyFields)), kEfficiencyFields, presence,
                     profile.efficiency);
    return profile;
  }

  const Map& map_;
  const std::string& file_;
  const GpuCatalog& below_;
  GpuCatalog read_;
  std::set<std::string> open_;  // being read
};

// The parts of a device's name: "NVIDIA A100-SXM4-80GB" has four.
std::vector<std::string> words_of(const std::string& device) {
  std::vector<std::string> words(1);
  for (const char c : lower(device))
    if (std::isalnum(static_cast<unsigned char>(c)))
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  return words;
}

bool is_size(const std::string& word) {  // "80g"
  return word.size() > 1 && word.back() == 'g' &&
         word.find_first_not_of("0123456789") == word.size() - 1;
}

}  // namespace

Result<GpuCatalog> parse_gpus(const std::string& text, const std::string& file,
                              const GpuCatalog& below) {
  YamlReport report{file, {}};
  auto gpus = below;
  if (const auto document = read_document(text, report)) {
    const Map map(*document);
    for (auto& [name, profile] : GpuReader(map, file, below).read())
      gpus.insert_or_assign(name, std::move(profile));
  }
  if (!report.errors.empty()) return report.errors;
  return gpus;
}

Result<GpuCatalog> load_gpus(const std::vector<fs::path>& files) {
  return read_over<GpuCatalog>(files, parse_gpus);
}

// All parts of an entry's name must occur in the device's name, except for a memory size: PyTorch
// and the driver do not always include it. The entry with the most parts is the closest.
const GpuProfile* find_gpu(const GpuCatalog& gpus, const std::string& device, double memory) {
  const auto there = words_of(device);
  const GpuProfile* best = nullptr;
  std::tuple<std::ptrdiff_t, std::ptrdiff_t, double> least{};
  for (const auto& [known, profile] : gpus) {
    const auto words = split(known, '-');
    const auto is_there = [&](const std::string& word) {
      return std::any_of(there.begin(), there.end(), [&](const auto& one) {
        return is_size(word) ? one.starts_with(word) : one == word;
      });
    };
    const auto missing = std::count_if(words.begin(), words.end(), std::not_fn(is_there));
    if (std::any_of(words.begin(), words.end(),
                    [&](const auto& word) { return !is_size(word) && !is_there(word); }))
      continue;
    const std::tuple off{missing, -static_cast<std::ptrdiff_t>(words.size()),
                         std::abs(profile.gpu.memory.value - memory)};
    if (!best || off < least) best = &profile, least = off;
  }
  return best;
}

}  // namespace orch::hardware
