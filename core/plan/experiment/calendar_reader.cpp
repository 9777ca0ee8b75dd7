// When the machine is there, and what may be spent on it.
#include "core/plan/experiment/reader.h"

#include <fmt/format.h>

#include "core/base/text.h"

namespace orch::experiment {
namespace {

constexpr double kLeastAvailability = 0.01;

}  // namespace

std::optional<Date> Reader::date(const sol::object& value, const std::string& place) {
  const auto day =
      value.get_type() == sol::type::string ? parse_date(value.as<std::string>()) : std::nullopt;
  if (!day)
    error(place, fmt::format("{} is not a day of the calendar", shown(value)),
          "write it as \"YYYY-MM-DD\", for instance \"2026-12-01\"");
  return day;
}

void Reader::read_calendar(const sol::object& start, const sol::object& availability) {
  if (start.valid()) out_.calendar.start = date(start, "start");
  if (!availability.valid()) return;
  if (availability.get_type() == sol::type::table)
    return read_windows(availability.as<sol::table>());
  const auto share = plan::number(to_value(availability).value_or(plan::Value()));
  if (share && *share >= kLeastAvailability && *share <= 1)
    out_.calendar.availability = *share;
  else
    error("availability",
          fmt::format("{} is not a share of the time from {} to 1", shown(availability),
                      kLeastAvailability),
          "write availability = 0.9 where failures and maintenance take a tenth");
}

// { { from = "2027-01-01", nodes = 18 }, { from = "2027-02-15", nodes = 48, share = 0.8 } }.
// Without a start, the first window is it.
void Reader::read_windows(const sol::table& list) {
  static const std::vector<std::string> kNames{"from", "nodes", "share"};
  const std::string example = "availability = { { from = \"2027-01-01\", nodes = 18 } }";
  const auto keys = keys_of(list, "availability", errors_);
  if (!keys.fields.empty() || keys.items.empty())
    return error("availability", "not a list of windows", "write " + example);
  auto& windows = out_.calendar.windows;
  for (std::size_t i = 0; i < keys.items.size(); ++i) {
    const auto place = fmt::format("availability[{}]", i + 1);
    if (!is_table(keys.items[i], place, example)) continue;
    plan::Window window;
    std::optional<Date> from;
    const auto table = keys.items[i].as<sol::table>();
    for (const auto& [name, held] : fields_of(table, place, example, errors_)) {
      const auto field_place = place + "." + printable(name);
      if (name == "from")
        from = date(held, field_place);
      else if (name == "nodes")
        window.nodes = whole(held, field_place, 1, kMostNodes);
      else if (name != "share")
        error(field_place, "no such field", suggestion(name, kNames));
      else if (const auto share = plan::number(to_value(held).value_or(plan::Value()));
               share && *share >= kLeastAvailability && *share <= 1)
        window.share = *share;
      else
        error(field_place,
              fmt::format("{} is not a share of the time from {} to 1", shown(held),
                          kLeastAvailability),
              "write share = 0.8 where failures and maintenance take a fifth");
    }
    if (!table.raw_get<sol::object>("from").valid())
      error(place + ".from", "missing", "write " + example);
    if (!from) continue;
    if (!windows.empty() && *from <= windows.back().from)
      error(place + ".from", "the windows are not in order", "put the earliest first");
    window.from = *from;
    windows.push_back(window);
  }
  if (!out_.calendar.start && !windows.empty()) out_.calendar.start = windows.front().from;
}

const std::vector<std::string>& Reader::budget_names() {
  static const std::vector<std::string> kNames{"gpu_hours", "deadline_days", "deadline", "reserve_nodes"};
  return kNames;
}

void Reader::read_budget(const sol::object& value) {
  if (!value.valid()) return;
  const std::string example = "budget = { gpu_hours = 3e6, deadline_days = 120 }";
  if (!is_table(value, "budget", example)) return;
  for (const auto& [name, held] : fields_of(value.as<sol::table>(), "budget", example, errors_)) {
    const auto place = "budget." + printable(name);
    if (name == "gpu_hours")
      out_.budget.gpu_hours = positive(held, place);
    else if (name == "deadline_days")
      out_.budget.deadline_days = positive(held, place);
    else if (name == "deadline")
      out_.budget.deadline = date(held, place);
    else if (name == "reserve_nodes")
      out_.budget.reserve_nodes = whole(held, place, 0, kMostNodes);
    else
      error(place, "no such field", suggestion(name, budget_names()));
  }
}

}  // namespace orch::experiment
