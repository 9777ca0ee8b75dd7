#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/plan/vocabulary.h"
#include "core/record/quantities.h"
#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

using record::Record;

using plan::FieldEffect;

constexpr FieldEffect kNothing;
constexpr FieldEffect kSpeed{.speed = true};
constexpr FieldEffect kAll{true, true, true};
constexpr FieldEffect kLoss{.loss = true};

// What a setting can change, by its name. An unknown setting can change everything.
FieldEffect effect_of(std::string_view field) {
  if (const auto* term = plan::find_term(field)) return term->changes;
  // Settings in logs that are not in orch's vocabulary.
  static const std::map<std::string_view, FieldEffect> kOthers{
      {"seed", kLoss},          {"lr", kLoss},
      {"learning_rate", kLoss}, {"train_iters", kLoss},
      {"train_samples", kLoss}, {"name", kNothing},
      {"label", kNothing},      {"job", kNothing}};
  const auto found = kOthers.find(field);
  return found == kOthers.end() ? kAll : found->second;
}

// A field of one record as a string; empty if the record has no value.
struct FieldReading {
  std::string text;
  bool assumed = false;
};
using ReadField = std::function<FieldReading(const Record&)>;

// Ignores case: bf16 equals BF16.
bool has(const std::vector<std::string>& values, const std::string& value) {
  return std::any_of(values.begin(), values.end(),
                     [&](const std::string& held) { return lower(held) == lower(value); });
}

FieldValues said_by(const Cohort& group, const ReadField& read) {
  FieldValues said;
  for (const auto* record : group.records) {
    const auto reading = read(*record);
    if (reading.text.empty()) said.partly = true;
    if (reading.text.empty()) continue;
    said.assumed = said.assumed || reading.assumed;
    if (!has(said.values, reading.text)) said.values.push_back(reading.text);
  }
  return said;
}

bool same_values(const FieldValues& a, const FieldValues& b) {
  const auto in_b = [&](const std::string& value) { return has(b.values, value); };
  return a.values.size() == b.values.size() && std::all_of(a.values.begin(), a.values.end(), in_b);
}

FieldAgreement stand(const FieldValues& base, const FieldValues& other) {
  if (base.values.empty() && other.values.empty()) return FieldAgreement::unsaid;
  if (base.values.empty() || other.values.empty()) return FieldAgreement::one_sided;
  if (!same_values(base, other)) return FieldAgreement::differs;
  return base.partly == other.partly ? FieldAgreement::same : FieldAgreement::one_sided;
}

Difference look(const std::vector<Cohort>& groups, const std::string& field,
                const ReadField& read) {
  Difference found;
  found.field = field;
  for (const auto& group : groups) {
    found.said.push_back(said_by(group, read));
    found.standings.push_back(stand(found.said.front(), found.said.back()));
  }
  found.standings.front() = FieldAgreement::same;
  found.follows.resize(groups.size());
  return found;
}

bool is_difference(const Difference& found) {
  return std::any_of(found.standings.begin(), found.standings.end(), [](FieldAgreement standing) {
    return standing == FieldAgreement::differs || standing == FieldAgreement::one_sided;
  });
}

FieldReading read_field(const Record& record, const std::string& name) {
  for (const auto& field : record.fields)
    if (field.name == name) return {record::text(field.value), field.assumed};
  return {};
}

// What an argument can change, judged by its name: paths, logging and ranks change nothing;
// arguments of the optimizer, the data and the schedule change only the loss; all others can change
// everything.
FieldEffect effect_of_argument(std::string_view name) {
  if (const auto* term = plan::find_term(name)) return term->changes;
  constexpr std::array kPlaces{"_path", "_dir",  "_file",    "_name",
                               "_port", "_addr", "_project", "tokenizer_model"};
  constexpr std::array kTalk{"save",  "load", "log_",       "tensorboard", "wandb",
                             "exit_", "rank", "local_rank", "eval_",       "distributed_timeout"};
  constexpr std::array kLearning{"adam_",      "lr_",        "min_lr",      "seed",
                                 "data_path",  "data_cache", "data_args",   "data_impl",
                                 "train_data", "split",      "init_method", "clip_grad"};
  const auto begins = [&](const char* word) { return name.starts_with(word); };
  if (std::ranges::any_of(kLearning, begins) || name.find("weight_decay") != name.npos)
    return kLoss;
  if (std::ranges::any_of(kTalk, begins)) return kNothing;
  const bool is_place =
      std::ranges::any_of(kPlaces, [&](const char* word) { return name.ends_with(word); });
  return is_place ? kNothing : kAll;
}

// Names of arguments that are not fields, sorted.
std::set<std::string> argument_names(const std::vector<Cohort>& groups) {
  std::set<std::string> names;
  for (const auto& group : groups)
    for (const auto* record : group.records)
      for (const auto& [name, value] : record->arguments)
        if (record->field(name) == nullptr) names.insert(name);
  return names;
}

FieldReading read_argument(const Record& record, const std::string& name) {
  for (const auto& [held, value] : record.arguments)
    if (held == name) return {value};
  return {};
}

std::vector<std::string> all_names(const std::vector<Cohort>& groups) {
  std::vector<const Record*> records;
  for (const auto& group : groups)
    records.insert(records.end(), group.records.begin(), group.records.end());
  return record::field_names(records);
}

std::string version_of(const Record& record, const std::string& name) {
  for (const auto& [what, version] : record.origin.versions)
    if (what == name) return version;
  return {};
}

std::vector<std::string> version_names(const std::vector<Cohort>& groups) {
  std::vector<std::string> names;
  for (const auto& group : groups)
    for (const auto* record : group.records)
      for (const auto& [what, version] : record->origin.versions)
        if (!contains(names, what)) names.push_back(what);
  return names;
}

// A property of a run that is not a setting, and what it can change.
struct Circumstance {
  std::string name;
  FieldEffect effect;
  ReadField read;
};

// Use by other programs, rounded to 10 %, since even idle machines differ slightly.
std::string others_text(const Record& record) {
  const auto share = record::measured(*record::find_quantity("others_share"), record);
  if (!share) return "";
  return share->value < record::kBusyShare
             ? fmt::format("under {:.0f} %", 100 * record::kBusyShare)
             : fmt::format("{:.0f} %", 10 * std::round(10 * share->value));
}

std::vector<Circumstance> circumstances(const std::vector<Cohort>& groups) {
  std::vector<Circumstance> all{
      // One machine was 1.7x slower for a day, for unknown reasons.
      {"date", kSpeed, [](const Record& r) { return FieldReading{r.origin.date}; }},
      {"commit", kAll, [](const Record& r) { return FieldReading{r.origin.commit}; }},
      {"node names", kSpeed,
       [](const Record& r) { return FieldReading{join(r.origin.nodes, " ")}; }},
      {"use by other programs", kSpeed,
       [](const Record& r) { return FieldReading{others_text(r)}; }},
      // The cluster file changes estimates, never measurements.
      {"cluster file", kNothing,
       [](const Record& r) { return FieldReading{r.origin.cluster_file}; }},
      {"experiment", kNothing, [](const Record& r) { return FieldReading{r.origin.experiment}; }},
      {"experiment file", kNothing,
       [](const Record& r) { return FieldReading{r.origin.experiment_file}; }},
      {"job", kNothing, [](const Record& r) { return FieldReading{r.origin.job}; }}};
  for (const auto& name : version_names(groups))
    all.push_back({"version of " + name, kAll,
                   [name](const Record& r) { return FieldReading{version_of(r, name)}; }});
  return all;
}

// True if all records have a model shape and it is the same.
bool same_shape(const std::vector<Cohort>& groups) {
  const auto& first = *groups.front().records.front();
  for (const std::string name : {"layers", "hidden", "vocab"})
    for (const auto& group : groups)
      for (const auto* record : group.records)
        if (record->field(name) == nullptr || record->field_text(name) != first.field_text(name))
          return false;
  return true;
}

}  // namespace

std::vector<Difference> differences_of(const std::vector<Cohort>& groups) {
  std::vector<Difference> out;
  const bool only_names = same_shape(groups);
  for (const auto& name : all_names(groups)) {
    auto found = look(groups, name, [&](const Record& r) { return read_field(r, name); });
    found.effect = effect_of(name);
    if (only_names && (name == "model" || name == "params")) found.effect = {};
    if (is_difference(found)) out.push_back(std::move(found));
  }
  for (const auto& [name, effect, read] : circumstances(groups)) {
    auto found = look(groups, name, read);
    found.circumstance = true;
    found.effect = effect;
    if (is_difference(found)) out.push_back(std::move(found));
  }
  return out;
}

std::vector<Difference> argument_differences(const std::vector<Cohort>& groups) {
  std::vector<Difference> out;
  const auto prints = [](const Record& r) { return !r.arguments.empty(); };
  if (!std::ranges::all_of(groups, [&](const auto& group) { return group.any(prints); }))
    return out;
  for (const auto& name : argument_names(groups)) {
    auto found = look(groups, name, [&](const Record& r) { return read_argument(r, name); });
    found.argument = true;
    found.effect = effect_of_argument(name);
    if (is_difference(found)) out.push_back(std::move(found));
  }
  return out;
}

std::vector<std::string> varying_fields(const Cohort& group) {
  std::vector<std::string> out;
  for (const auto& name : all_names({group})) {
    const auto said = said_by(group, [&](const Record& r) { return read_field(r, name); });
    if (said.values.size() > 1 || (said.partly && !said.values.empty())) out.push_back(name);
  }
  return out;
}

const Difference* find(const std::vector<Difference>& differences, std::string_view field) {
  for (const auto& difference : differences)
    if (!difference.circumstance && difference.field == field) return &difference;
  return nullptr;
}

FieldAgreement standing_of(const std::vector<Difference>& differences, std::string_view field,
                           std::size_t group) {
  const auto* found = find(differences, field);
  return found != nullptr ? found->standings[group] : FieldAgreement::same;
}

}  // namespace orch::compare
