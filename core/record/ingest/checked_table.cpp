#include "core/record/ingest/checked_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/text.h"

namespace orch::ingest {

std::string type_name(const sol::object& object) {
  switch (object.get_type()) {
    case sol::type::lua_nil:
    case sol::type::none:
      return "nothing";
    case sol::type::string:
      return "a text";
    case sol::type::number:
      return "a number";
    case sol::type::boolean:
      return "true or false";
    case sol::type::table:
      return "a table";
    default:
      return "a function";
  }
}

std::string CheckedTable::below(const std::string& name) const {
  return place_.empty() ? name : place_ + "." + name;
}

void CheckedTable::error(const std::string& place, std::string fact, std::string fix) const {
  errors_.push_back(
      {place.empty() ? file_ : file_ + ": " + printable(place), std::move(fact), std::move(fix)});
}

std::vector<std::string> CheckedTable::names(const std::vector<std::string>& allowed) const {
  std::vector<std::string> out;
  for (const auto& [key, value] : table_) {
    if (key.get_type() == sol::type::string)
      out.push_back(key.as<std::string>());
    else
      error(place_, "a value without a name", "write name = value");
  }
  std::sort(out.begin(), out.end());
  for (const auto& name : out)
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end())
      error(below(name), "no such field", suggestion(name, allowed));
  return out;
}

std::string CheckedTable::text(const char* name) const {
  const auto held = get(name);
  if (held.get_type() == sol::type::string) return held.as<std::string>();
  if (has(name)) error(below(name), type_name(held) + " is not a text", "");
  return "";
}

bool CheckedTable::flag(const char* name) const {
  const auto held = get(name);
  if (held.get_type() == sol::type::boolean) return held.as<bool>();
  if (has(name)) error(below(name), type_name(held) + " is not true or false", "");
  return false;
}

int CheckedTable::whole(const char* name, int otherwise) const {
  if (!has(name)) return otherwise;
  const auto held = get(name);
  const double value = held.get_type() == sol::type::number ? held.as<double>() : -1;
  if (value >= 0 && value <= 1000 && value == std::floor(value)) return static_cast<int>(value);
  error(below(name), "not a whole number from 0 to 1000", "");
  return otherwise;
}

void CheckedTable::each(
    const char* name, const char* example,
    const std::function<void(const std::string&, const sol::object&)>& read) const {
  const auto held = get(name);
  if (held.get_type() != sol::type::table)
    return error(below(name), type_name(held) + " is not a table",
                 fmt::format("write {}", example));
  std::map<std::string, sol::object> ordered;
  for (const auto& [key, value] : held.as<sol::table>()) {
    if (key.get_type() == sol::type::string && !key.as<std::string>().empty())
      ordered.emplace(key.as<std::string>(), value);
    else
      error(below(name), "a value without a name", fmt::format("write {}", example));
  }
  for (const auto& [key, value] : ordered) read(key, value);
}

void CheckedTable::each_rule(const char* list,
                             const std::function<void(const CheckedTable&)>& read) const {
  if (!has(list)) return;
  const auto held = get(list);
  if (held.get_type() != sol::type::table)
    return error(list, type_name(held) + " is not a list of rules",
                 fmt::format("write {} = {{ {{ … }}, {{ … }} }}", list));
  const auto rules = held.as<sol::table>();
  for (std::size_t i = 1; i <= rules.size(); ++i) {
    const auto rule = rules.raw_get<sol::object>(i);
    auto place = fmt::format("{}[{}]", list, i);
    if (rule.get_type() != sol::type::table) {
      error(place, type_name(rule) + " is not a rule", "write { name = …, … }");
      continue;
    }
    // People look for the name, and the number finds the one without.
    const auto name = rule.as<sol::table>().raw_get<sol::object>("name");
    if (name.is<std::string>()) place += fmt::format(" ({})", name.as<std::string>());
    read(CheckedTable(rule.as<sol::table>(), place, file_, errors_));
  }
}

}  // namespace orch::ingest
