#include <fmt/format.h>

#include <utility>

#include "core/base/date.h"
#include "core/base/text.h"
#include "core/plan/hardware/constants.h"
#include "core/plan/stack.h"
#include "core/plan/tunable.h"

namespace orch::hardware {
namespace {

const ConstantKind kEra{Unit::none, 0.1, 10, "a factor", "0.1 to 10", "1.05", ""};

const ConstantKind& kind_of(std::string_view name) {
  for (const auto& field : kEfficiencyFields)
    if (field.key == name) return *field.kind;
  if (plan::is_time(name)) return kLatency;
  return name == "context_memory" ? kSmallMemory : kShare;
}

std::vector<plan::SoftwareEra> read_eras(const YamlField& field) {
  std::vector<plan::SoftwareEra> eras;
  for (const auto& item : field.list().value_or(std::vector<YamlField>{})) {
    const Map map(item, {"until", "time"});
    plan::SoftwareEra era;
    if (const auto* until = map.require("until", "\"2022-02-25\"")) {
      era.until = until->text().value_or("");
      const auto* before = eras.empty() ? nullptr : &eras.back();
      if (!parse_date(era.until))
        until->problem(fmt::format("'{}' is not a date", printable(era.until)),
                       "write it like \"2022-02-25\"");
      else if (before && parse_date(before->until) && era.until <= before->until)
        until->problem("the eras are not in order", "put the earliest first");
    }
    if (const auto* time = map.require("time", constant_example(kEra)))
      read_constant(*time, kEra, era.time);
    eras.push_back(std::move(era));
  }
  return eras;
}

plan::SeenRanges::Span read_span(const YamlField& field) {
  const auto ends = field.list().value_or(std::vector<YamlField>{});
  std::vector<double> numbers;
  for (const auto& end : ends)
    if (const auto number = parse_quantity(end.text().value_or(""), Unit::none))
      numbers.push_back(*number);
  if (numbers.size() == 2 && ends.size() == 2 && numbers[0] > 0 && numbers[0] <= numbers[1])
    return {numbers[0], numbers[1]};
  field.problem("is not a pair of the least and the most", "write [8, 384]");
  return {};
}

plan::Calibration read_constants_of(const YamlField& field) {
  auto known = all_names(plan::all_tunables());
  known.insert(known.end(), {"eras", "seen"});
  const Map map(field, known);
  plan::Calibration calibration;
  if (const auto* eras = map.find("eras")) calibration.eras = read_eras(*eras);
  if (const auto* seen = map.find("seen")) calibration.seen = read_seen(*seen);
  for (const auto& [key, value] : map.entries())
    if (plan::find_tunable(key)) read_constant(value, kind_of(key), calibration.constants[key]);
  return calibration;
}

plan::SeenRanges::Settings read_settings(const YamlField& field) {
  plan::SeenRanges::Settings out;
  const Map said(field);
  for (const auto& [name, values] : said.entries()) out[name] = values.texts();
  return out;
}

plan::SeenRanges::Sizes read_sizes(const YamlField& field) {
  const Map map(field, {"gpus", "params"});
  plan::SeenRanges::Sizes out;
  if (const auto* gpus = map.require("gpus", "[8, 64]")) out.gpus = read_span(*gpus);
  if (const auto* params = map.require("params", "[7e9, 13e9]")) out.params = read_span(*params);
  return out;
}

}  // namespace

plan::SeenRanges read_seen(const YamlField& field) {
  std::vector<std::string> known{"rows"};
  for (const auto& span : plan::kSeenSpans) known.emplace_back(span.name);
  known.insert(known.end(), {"stacks", "devices", "machines", "settings", "of_stack"});
  const Map map(field, known);
  plan::SeenRanges seen;
  if (const auto* rows = map.require("rows", "99"))
    seen.rows = rows->integer(0, 1'000'000'000).value_or(0);
  for (const auto& [name, at] : plan::kSeenSpans)
    if (const auto* span = map.find(name)) seen.*at = read_span(*span);
  if (const auto* stacks = map.find("stacks")) seen.stacks = stacks->texts();
  if (const auto* devices = map.find("devices")) {
    const Map said(*devices);
    for (const auto& [gpu, sizes] : said.entries()) seen.devices[gpu] = read_sizes(sizes);
  }
  if (const auto* machines = map.find("machines")) seen.machines = machines->texts();
  if (const auto* settings = map.find("settings")) seen.settings = read_settings(*settings);
  if (const auto* of_stack = map.find("of_stack")) {
    const Map said(*of_stack);
    for (const auto& [stack, settings] : said.entries())
      seen.of_stack[stack] = read_settings(settings);
  }
  return seen;
}

void read_calibration(const YamlField* field, plan::Partition& partition) {
  auto calibration = std::exchange(partition.calibration, std::nullopt);
  if (field) calibration = read_constants_of(*field);
  if (!calibration) return;
  calibration->partition =
      std::make_shared<plan::Partition>(plan::calibrated(partition, *calibration));
  partition.calibration = std::move(calibration);
}

}  // namespace orch::hardware
