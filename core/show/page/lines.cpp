// Makes the lines of a page from its records: each line has a name, a series, scaling families and
// a group of repeats.

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>

#include "core/plan/tie.h"
#include "core/record/record.h"
#include "core/show/page/columns.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

using record::Record;

// Fields that depend on the number of GPUs or have no effect on speed.
constexpr std::array<std::string_view, 14> kFree{
    "gpus", "nodes",         "data_parallel", "accumulate",    "global_batch", "seed", "lr",
    "name", "learning_rate", "train_iters",   "train_samples", "id",           "job",  "label"};

// Fields in which repeats of a run may differ.
constexpr std::array<std::string_view, 5> kOfRepeats{"seed", "name", "id", "job", "label"};

std::string settings_of(const Record& record, std::span<const std::string_view> free) {
  std::vector<std::string> parts;
  for (const auto& field : record.fields)
    if (std::ranges::find(free, field.name) == free.end())
      parts.push_back(field.name + '\0' + record::text(field.value));
  std::sort(parts.begin(), parts.end());
  std::string out;
  for (const auto& part : parts) out += part + '\n';
  return out;
}

using Numbering = std::map<std::string, std::size_t>;

std::size_t family(const Record& record, const std::string& settings, const char* fixed,
                   Numbering& known) {
  const auto value = record.field_text(fixed);
  if (value.empty()) return 0;
  return known.try_emplace(settings + '\n' + value, known.size() + 1).first->second;
}

// Numbers the families of runs that show how a configuration scales. Runs of one family agree in
// all settings except the number of GPUs, nodes and data-parallel ranks, and either train with the
// same global batch (strong scaling) or with the same batch on each rank (weak scaling). Runs with
// an unknown batch belong to no family.
void find_families(std::vector<PageLine>& lines) {
  Numbering strong, weak;
  for (auto& line : lines) {
    const auto settings = settings_of(*line.record, kFree);
    line.strong = family(*line.record, settings, "global_batch", strong);
    line.weak = family(*line.record, settings, "accumulate", weak);
  }
}

// The label of a run's id and the number of its repeat: "gpt-ddp" and "2" for "gpt-ddp-r2-0f3a…".
std::pair<std::string, std::string> label_and_repeat(const std::string& id) {
  auto label = id.substr(0, id.rfind('-'));
  const auto at = label.rfind("-r");
  if (at == std::string::npos || at + 2 >= label.size() ||
      label.find_first_not_of("0123456789", at + 2) != std::string::npos)
    return {label, ""};
  return {label.substr(0, at), label.substr(at + 2)};
}

// The key that all repeats of a run share: settings, outcome, software, arguments, and the label of
// the repeated run or the log file that contains them.
std::string repeat_key(const Record& record, bool is_log) {
  auto key = settings_of(record, kOfRepeats) + std::string(record::name(record.state)) + '\n' +
             std::string(record::name(record.failure)) + '\n' + record.source + '\n' +
             (is_log ? record.origin.file : label_and_repeat(record.id).first) + '\n';
  for (const auto* pairs : {&record.arguments, &record.origin.versions})
    for (const auto& [name, value] : *pairs) key += name + '\n' + value + '\n';
  return key;
}

// Numbers the groups of repeats: runs of orch, or parts of one log, with the same key. Two runs
// with the same label and the same repeat number (or none) differ in something that only the hash
// contains, so their group is skipped.
void find_repeats(std::vector<PageLine>& lines) {
  std::map<std::string, std::vector<PageLine*>> groups;
  std::map<std::string, std::set<std::string>> numbers;
  for (auto& line : lines) {
    const auto& record = *line.record;
    const bool is_log = record.origin.kind == "log" && !record.origin.file.empty();
    if (!is_log && run_name(record).hash.empty()) continue;
    const auto key = repeat_key(record, is_log);
    groups[key].push_back(&line);
    numbers[key].insert(is_log ? record.id : label_and_repeat(record.id).second);
  }
  std::size_t number = 0;
  for (const auto& [key, members] : groups) {
    if (members.size() < 2 || numbers[key].size() < members.size()) continue;
    ++number;
    for (auto* line : members) line->alike = number;
  }
}

// Numbers the groups of ties: of each series on the same GPUs, the estimated runs whose time cannot
// be told from the best one's. Measured runs, repeats and few ties stay rows of their own.
void find_ties(std::vector<PageLine>& lines) {
  constexpr std::size_t kFewest = 4;
  std::map<std::string, std::vector<PageLine*>> series;
  std::size_t number = 0;
  for (auto& line : lines) {
    number = std::max(number, line.alike);
    const bool guessed = line.numbers.days.estimated && !line.numbers.days.measured;
    if (!guessed || !line.out.empty() || line.alike != 0) continue;
    auto key = line.series;
    for (const auto* field : {"cluster", "partition", "gpus", "seq"})
      key += '\n' + line.record->field_text(field);
    series[key].push_back(&line);
  }
  // All of a series share the errors of one machine, whichever that is.
  const plan::Partition machine{};
  const auto timing = [&](const PageLine* line) {
    auto out = plan::timing_of(*line->record->estimated, &machine);
    out.days = line->numbers.days.estimated->value;
    return out;
  };
  for (const auto& [name, members] : series) {
    const auto days = [](const PageLine* line) { return line->numbers.days.estimated->value; };
    const auto best = timing(*std::ranges::min_element(members, {}, days));
    std::vector<PageLine*> tied;
    for (auto* line : members)
      if (plan::may_be_equal(best, timing(line))) tied.push_back(line);
    if (tied.size() < kFewest) continue;
    ++number;
    for (auto* line : tied) line->alike = number, line->tied = true;
  }
}

double gpus_of(const Record& record) {
  const double gpus = record.field_number("gpus").value_or(0);
  return gpus > 0 && gpus < 1e12 ? gpus : 0;
}

// Sets the series of each line. The model is part of it where models differ, because days of
// different models cannot be compared.
void name_series(std::vector<PageLine>& lines) {
  std::set<std::string> models;
  for (const auto& line : lines) models.insert(model_of(*line.record));
  for (auto& line : lines) {
    const auto strategy = strategy_of(*line.record), model = model_of(*line.record);
    line.series = strategy.empty() ? "runs" : strategy;
    if (models.size() > 1) line.series += " · " + (model.empty() ? "model not known" : model);
    line.series = clean(line.series, kLongestName);
  }
}

bool differ_in(const std::vector<const Record*>& records, const char* field) {
  return std::ranges::any_of(records, [&](const Record* record) {
    return record->field_text(field) != records.front()->field_text(field);
  });
}

using RecordTexts = std::map<const Record*, std::string>;

// What tells each of these records from the others: the named settings in which they differ.
RecordTexts differences_of(const std::vector<const Record*>& records,
                           const std::vector<std::string>& names) {
  auto settings = differing_settings(records, names);
  for (const auto* own : {"global_batch", "partition"})  // not in settings: they have columns
    if (differ_in(records, own)) settings.insert(settings.begin(), own);
  RecordTexts out;
  for (const auto* record : records) out[record] = variant_of(*record, settings);
  return out;
}

std::map<std::string, std::vector<const Record*>> by_text(const RecordTexts& texts) {
  std::map<std::string, std::vector<const Record*>> out;
  for (const auto& [record, text] : texts) out[text].push_back(record);
  return out;
}

// Names each line by its layout. Lines with the same layout also get the settings in which they
// differ (those of their strategy only where the known ones do not tell), or the hash if there are
// none or their list is long.
void name_lines(std::vector<PageLine>& lines) {
  constexpr std::size_t kLongestDifference = 40;
  std::map<std::pair<std::string, std::string>, std::vector<const Record*>> alike;
  for (const auto& line : lines)
    alike[{line.series, run_name(*line.record).layout}].push_back(line.record);
  RecordTexts differences;
  for (const auto& [name, records] : alike) {
    auto texts = differences_of(records, record::field_names());
    for (const auto& [text, same] : by_text(texts))
      if (same.size() > 1)
        for (const auto& [record, more] : differences_of(same, record::field_names(same)))
          if (!more.empty()) texts[record] = text.empty() ? more : text + ", " + more;
    for (const auto& [text, same] : by_text(texts))
      for (const auto* record : same)
        differences[record] =
            records.size() > 1 && (same.size() > 1 || text.size() > kLongestDifference)
                ? run_name(*record).hash
                : text;
  }
  for (auto& line : lines) {
    const auto& difference = differences[line.record];
    const auto [layout, hash] = run_name(*line.record);
    line.name = clean(hash.empty() || difference.empty() ? layout : layout + " " + difference,
                      kLongestName);
  }
}

}  // namespace

std::vector<PageLine> lines_of(const std::vector<Record>& records) {
  std::vector<const Record*> all;
  for (const auto& record : records) all.push_back(&record);
  const auto settings = differing_settings(all, record::field_names());
  std::vector<PageLine> out;
  out.reserve(records.size());
  for (const auto& record : records)
    out.push_back({.record = &record,
                   .numbers = numbers_of(record),
                   .variant = variant_of(record, settings),
                   .name = {},
                   .series = {},
                   .out = not_counted(record),
                   .gpus = gpus_of(record)});
  find_families(out);
  find_repeats(out);
  name_series(out);
  find_ties(out);
  name_lines(out);
  return out;
}

}  // namespace orch::page
