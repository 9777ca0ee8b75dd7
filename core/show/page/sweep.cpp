#include "core/show/page/parts.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace orch::page {
namespace {

constexpr std::size_t kMostValues = 24;  // more are no sweep

// What a run is, what its model is, and what follows from the rest.
constexpr std::array<std::string_view, 20> kNone{
    "id",    "strategy", "framework", "model",         "params",        "layers", "hidden",
    "heads", "vocab",    "nodes",     "gpus_per_node", "accumulate",    "seed",   "name",
    "job",   "label",    "lr",        "learning_rate", "data_parallel", "tokens"};

using Series = std::map<std::pair<std::string, std::string>, std::vector<const Line*>>;

Series series_of_sweep(const std::vector<Line>& lines) {
  Series out;
  for (const auto& line : lines)
    if (line.numbers.best_days())
      out[{strategy_of(*line.record), model_of(*line.record)}].push_back(&line);
  return out;
}

bool varies(const std::vector<const Line*>& some, const std::string& name) {
  std::set<std::string> values;
  for (const auto* line : some)
    if (const auto text = line->record->field_text(name); !text.empty()) values.insert(text);
  return values.size() > 1 && values.size() <= kMostValues;
}

}  // namespace

std::vector<std::string> swept(const std::vector<Line>& lines) {
  const auto series = series_of_sweep(lines);
  std::vector<std::string> names = record::field_names();
  for (const auto& line : lines)
    for (const auto& field : line.record->fields)
      if (std::find(names.begin(), names.end(), field.name) == names.end())
        names.push_back(field.name);
  std::erase_if(names, [&](const std::string& name) {
    return std::find(kNone.begin(), kNone.end(), name) != kNone.end() ||
           std::none_of(series.begin(), series.end(),
                        [&](const auto& entry) { return varies(entry.second, name); });
  });
  return names;
}

}  // namespace orch::page
