// Reads when the machine is available, and the budget.
#include <fmt/format.h>

#include "core/base/text.h"
#include "core/plan/experiment/reader.h"

namespace orch::experiment {
namespace {

constexpr double kLeastAvailability = 0.01;

}  // namespace

std::optional<Date> ExperimentReader::date(const sol::object& value, const std::string& place) {
  const auto day =
      value.get_type() == sol::type::string ? parse_date(value.as<std::string>()) : std::nullopt;
  if (!day)
    error(place, fmt::format("{} is not a date", shown(value)),
          "write it as \"YYYY-MM-DD\", for instance \"2026-12-01\"");
  return day;
}

void ExperimentReader::read_calendar(const sol::object& start, const sol::object& availability) {
  if (start.valid()) out_.calendar.start = date(start, "start");
  if (!availability.valid()) return;
  if (availability.get_type() == sol::type::table)
    return read_windows(availability.as<sol::table>());
  out_.calendar.availability =
      read_share(availability, "availability",
                 "write availability = 0.9 where failures and maintenance take a tenth");
}

double ExperimentReader::read_share(const sol::object& value, const std::string& place,
                                    const char* fix) {
  const auto share = plan::number(to_value(value).value_or(plan::Value()));
  if (share && *share >= kLeastAvailability && *share <= 1) return *share;
  error(place,
        fmt::format("{} is not a share of the time from {} to 1", shown(value), kLeastAvailability),
        fix);
  return 1;
}

// { { from = "2027-01-01", nodes = 18 }, { from = "2027-02-15", nodes = 48, share = 0.8 } }.
// Without a start, the first window gives it.
void ExperimentReader::read_windows(const sol::table& list) {
  const std::string example = "availability = { { from = \"2027-01-01\", nodes = 18 } }";
  const auto keys = keys_of(list, "availability", errors_);
  if (!keys.fields.empty() || keys.items.empty())
    return error("availability", "not a list of windows", "write " + example);
  auto& windows = out_.calendar.windows;
  for (std::size_t i = 0; i < keys.items.size(); ++i) {
    const auto place = fmt::format("availability[{}]", i + 1);
    plan::TimeWindow window;
    std::optional<Date> from;
    const auto* fix = "write share = 0.8 where failures and maintenance take a fifth";
    read_named(
        keys.items[i], place, example,
        {{"from", [&](auto& held, auto& at) { from = date(held, at); }, true},
         {"nodes", [&](auto& held, auto& at) { window.nodes = whole(held, at, 0, kMostNodes); }},
         {"share", [&](auto& held, auto& at) { window.share = read_share(held, at, fix); }}});
    if (!from) continue;
    if (!windows.empty() && *from <= windows.back().from)
      error(place + ".from", "the windows are not in order", "put the earliest first");
    window.from = *from;
    windows.push_back(window);
  }
  if (!out_.calendar.start && !windows.empty()) out_.calendar.start = windows.front().from;
}

void ExperimentReader::read_budget(const sol::object& value) {
  auto& budget = out_.budget;
  read_named(
      value, "budget", "budget = { gpu_hours = 3e6, deadline_days = 120 }",
      {{"gpu_hours", [&](auto& held, auto& at) { budget.gpu_hours = positive(held, at); }},
       {"money", [&](auto& held, auto& at) { budget.money = positive(held, at); }},
       {"energy_kwh", [&](auto& held, auto& at) { budget.energy_kwh = positive(held, at); }},
       {"co2_kg", [&](auto& held, auto& at) { budget.co2_kg = positive(held, at); }},
       {"deadline_days", [&](auto& held, auto& at) { budget.deadline_days = positive(held, at); }},
       {"deadline", [&](auto& held, auto& at) { budget.deadline = date(held, at); }},
       {"reserve_nodes",
        [&](auto& held, auto& at) { budget.reserve_nodes = whole(held, at, 0, kMostNodes); }}});
}

}  // namespace orch::experiment
