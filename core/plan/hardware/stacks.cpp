#include <fmt/format.h>

#include "core/base/text.h"
#include "core/plan/hardware/constants.h"
#include "core/plan/hardware/hardware.h"
#include "core/plan/hardware/yaml.h"
#include "core/plan/tunable.h"

namespace orch::hardware {
namespace {

std::vector<std::string> factor_keys() {
  std::vector<std::string> names;
  for (const auto& tunable : plan::all_tunables())
    if (tunable.stack_doubt > 0 || tunable.name.ends_with("_spread"))
      names.emplace_back(tunable.name);
  return names;
}

void read_factors(const YamlField& field, plan::Stack& stack) {
  const Map map(field, factor_keys());
  for (const auto& [key, value] : map.entries())
    if (plan::find_tunable(key))
      read_constant(value, key.ends_with("_spread") ? kSpread : kFactor, stack.constants[key]);
}

// Starts from an earlier entry of this file, or from a later file's.
void start_like(const YamlField& field, const StackCatalog& known, plan::Stack& stack) {
  const auto wanted = field.text();
  if (!wanted) return;
  const auto found = known.find(*wanted);
  if (found == known.end())
    return field.problem(fmt::format("no stack is called '{}' so far", printable(*wanted)),
                         suggestion(*wanted, all_names(known)));
  stack = *found->second;
}

plan::Stack read_stack(const std::string& name, const YamlField& field, const std::string& file,
                       const StackCatalog& known) {
  const Map map(
      field, {"like", "doc", "date", "frameworks", "runs", "tuned", "factors", "settings", "seen"});
  plan::Stack stack;
  if (!is_plain_name(name))
    field.problem("not a name for a stack", "use letters, digits, '.', '_' and '-'");
  if (const auto* like = map.find("like")) start_like(*like, known, stack);
  if (stack.name != name) stack.like = stack.name;
  stack.name = name;
  stack.file = file;
  if (const auto* doc = map.find("doc")) stack.doc = doc->text().value_or("");
  if (const auto* date = map.find("date")) stack.date = date->text().value_or("");
  if (stack.date.empty()) map.require("date", "\"2022-03\"");
  if (const auto* frameworks = map.find("frameworks")) stack.frameworks = frameworks->texts();
  if (const auto* runs = map.find("runs")) stack.runs = runs->texts();
  if (const auto* tuned = map.find("tuned")) {
    const auto word = tuned->text().value_or("");
    if (word != "true" && word != "false") tuned->problem("is not true or false", "write true");
    stack.tuned = word == "true";
  }
  if (const auto* settings = map.find("settings")) {
    const Map said(*settings);
    for (const auto& [key, value] : said.entries()) stack.settings[key] = value.text().value_or("");
  }
  if (const auto* seen = map.find("seen")) stack.seen = read_seen(*seen);
  if (const auto* factors = map.find("factors")) read_factors(*factors, stack);
  return stack;
}

}  // namespace

Result<StackCatalog> parse_stacks(const std::string& text, const std::string& file,
                                  const StackCatalog& below) {
  YamlReport report{file, {}};
  auto stacks = below;
  if (const auto document = read_document(text, report)) {
    const Map map(*document);
    for (const auto& [name, field] : map.entries())
      stacks.insert_or_assign(
          name, std::make_shared<const plan::Stack>(read_stack(name, field, file, stacks)));
  }
  if (!report.errors.empty()) return report.errors;
  return stacks;
}

Result<StackCatalog> load_stacks(const std::vector<fs::path>& files) {
  auto there = files;
  // Without any file of stacks, machines keep their own constants.
  std::erase_if(there, [](const auto& file) { return !is_there(file); });
  return read_over<StackCatalog>(there, parse_stacks);
}

void give_stacks(const StackCatalog& stacks, plan::Cluster& cluster) {
  for (auto& partition : cluster.partitions) {
    std::vector<plan::StackOnPartition> all;
    for (const auto& [name, stack] : stacks)
      all.push_back({stack, std::make_shared<const plan::Partition>(
                                plan::planned_on_stack(partition.as_measured(), stack))});
    partition.stacks = std::move(all);
  }
}

}  // namespace orch::hardware
