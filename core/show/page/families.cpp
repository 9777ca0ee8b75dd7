#include "core/show/page/parts.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

namespace orch::page {
namespace {

using record::Record;

// What changes with the number of GPUs, and what has no effect on speed.
constexpr std::array<std::string_view, 14> kFree{
    "gpus", "nodes",         "data_parallel", "accumulate",    "global_batch", "seed", "lr",
    "name", "learning_rate", "train_iters",   "train_samples", "id",           "job",  "label"};

std::string settings_of(const Record& record) {
  std::set<std::string> parts;  // whatever their order
  for (const auto& field : record.fields)
    if (std::find(kFree.begin(), kFree.end(), field.name) == kFree.end())
      parts.insert(field.name + '\0' + record::text(field.value));
  std::string out;
  for (const auto& part : parts) out += part + '\n';
  return out;
}

using Numbering = std::map<std::string, std::size_t>;

std::size_t family(const Record& record, const char* fixed, Numbering& known) {
  const auto value = record.field_text(fixed);
  if (value.empty()) return 0;
  return known.try_emplace(settings_of(record) + '\n' + value, known.size() + 1).first->second;
}

}  // namespace

void find_families(std::vector<Line>& lines) {
  Numbering strong, weak;
  for (auto& line : lines) {
    line.strong = family(*line.record, "global_batch", strong);
    line.weak = family(*line.record, "accumulate", weak);
  }
}

bool are_related(const Line& a, const Line& b) {
  return (a.strong != 0 && a.strong == b.strong) || (a.weak != 0 && a.weak == b.weak);
}

}  // namespace orch::page
