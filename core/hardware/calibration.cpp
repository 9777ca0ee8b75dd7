#include "core/hardware/calibration.h"

#include <fmt/format.h>

#include <set>

#include "core/base/date.h"
#include "core/base/text.h"
#include "core/hardware/constants.h"
#include "core/plan/tunable.h"

namespace orch::hardware {
namespace {

const Kind kFactor{Unit::none, 0.1, 10, "a factor", "0.1 to 10", "1.05", ""};

std::vector<std::string> known_keys() {
  std::vector<std::string> names{"backends", "eras"};
  for (const auto list : {plan::time_tunables(), plan::memory_tunables(), plan::spread_tunables()})
    for (const auto& tunable : list) names.emplace_back(tunable.name);
  return names;
}

const Kind& kind_of(std::string_view name) {
  for (const auto& field : kEfficiencyFields)
    if (field.key == name) return *field.kind;
  return name == "context_memory" ? kSmallMemory : kShare;
}

std::vector<plan::Era> read_eras(const Field& field) {
  std::vector<plan::Era> eras;
  for (const auto& item : field.list().value_or(std::vector<Field>{})) {
    const Map map(item, {"until", "time"});
    plan::Era era;
    if (const auto* until = map.require("until", "\"2022-02-25\"")) {
      era.until = until->text().value_or("");
      const auto* before = eras.empty() ? nullptr : &eras.back();
      if (!parse_date(era.until))
        until->problem(fmt::format("'{}' is not a day", printable(era.until)),
                       "write it like \"2022-02-25\"");
      else if (before && parse_date(before->until) && era.until <= before->until)
        until->problem("the eras are not in order", "put the earliest first");
    }
    if (const auto* time = map.require("time", constant_example(kFactor)))
      read_constant(*time, kFactor, era.time);
    eras.push_back(std::move(era));
  }
  return eras;
}

std::vector<std::string> read_backends(const Map& map, std::set<std::string>& taken) {
  std::vector<std::string> backends;
  const auto* field = map.require("backends", "[megatron]");
  if (!field) return backends;
  for (const auto& item : field->list().value_or(std::vector<Field>{})) {
    auto name = item.text().value_or("");
    if (!name.empty() && !taken.insert(name).second)
      item.problem(fmt::format("'{}' has a calibration already", printable(name)),
                   "name each backend once");
    backends.push_back(std::move(name));
  }
  return backends;
}

plan::Calibration read_calibration(const Field& field, const plan::Partition& base,
                                   std::set<std::string>& taken) {
  static const auto known = known_keys();
  const Map map(field, known);
  plan::Calibration calibration;
  calibration.backends = read_backends(map, taken);
  if (const auto* eras = map.find("eras")) calibration.eras = read_eras(*eras);
  auto tuned = std::make_shared<plan::Partition>(base);
  for (const auto& [key, value] : map.entries()) {
    const auto* tunable = plan::find_tunable(key);
    if (!tunable) continue;
    auto& constant = calibration.constants[key];
    read_constant(value, kind_of(key), constant);
    tunable->in(*tuned) = constant;
  }
  calibration.partition = std::move(tuned);
  return calibration;
}

}  // namespace

void read_calibrations(const Field& field, plan::Partition& partition) {
  const plan::Partition base = partition;
  std::set<std::string> taken;
  for (const auto& item : field.list().value_or(std::vector<Field>{}))
    partition.calibrations.push_back(read_calibration(item, base, taken));
}

}  // namespace orch::hardware
