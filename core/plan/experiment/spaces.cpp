#include "core/plan/experiment/spaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/text.h"

namespace orch::experiment {
namespace {

constexpr std::size_t kLongestList = 100'000;

void append_row(plan::SweepAxis& axis, std::vector<std::pair<std::string, plan::Value>> row) {
  std::vector<plan::Value> point(axis.fields.size());
  for (auto& [field, value] : row) {
    auto found = std::find(axis.fields.begin(), axis.fields.end(), field);
    if (found == axis.fields.end()) {
      axis.fields.push_back(field);
      for (auto& earlier : axis.points) earlier.emplace_back();
      point.emplace_back();
      found = axis.fields.end() - 1;
    }
    point[static_cast<std::size_t>(found - axis.fields.begin())] = std::move(value);
  }
  axis.points.push_back(std::move(point));
}

std::string below(const std::string& place, const std::string& field) {
  return place.empty() ? printable(field) : place + "." + printable(field);
}

}  // namespace

AllowedKeys keys_of(const sol::table& table, const std::string& place, Errors& errors) {
  AllowedKeys keys;
  const auto length = table.size();
  if (length > kLongestList) {
    errors.push_back({place, fmt::format("a list of {} values", length),
                      fmt::format("give at most {}", kLongestList)});
    return keys;
  }
  for (std::size_t i = 1; i <= length; ++i) keys.items.push_back(table.raw_get<sol::object>(i));
  for (const auto& [key, value] : table) {
    if (key.get_type() == sol::type::string)
      keys.fields.emplace_back(key.as<std::string>(), value);
    else if (!key.is<std::int64_t>() || key.as<std::int64_t>() < 1 ||
             key.as<std::size_t>() > length)
      errors.push_back({place, "a key is not a name or a position in the list",
                        "write name = value, or a plain list without holes"});
  }
  std::sort(keys.fields.begin(), keys.fields.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return keys;
}

std::vector<std::pair<std::string, sol::object>> fields_of(const sol::table& table,
                                                           const std::string& place,
                                                           const std::string& example,
                                                           Errors& errors) {
  auto keys = keys_of(table, place, errors);
  if (!keys.items.empty())
    errors.push_back({place, fmt::format("{} without a name", type_name(keys.items.front())),
                      "write " + example});
  return std::move(keys.fields);
}

bool mentions(const sol::table& table, const std::string& field) {
  if (table.raw_get<sol::object>(field).valid()) return true;
  for (std::size_t i = 1; i <= table.size(); ++i) {
    const auto item = table.raw_get<sol::object>(i);
    if (tag_of(item).kind == "zip" && item.as<sol::table>().raw_get<sol::object>(field).valid())
      return true;
  }
  return false;
}

std::string section_advice(const std::string& name) {
  using plan::FieldSection;
  if (contains(plan::fields_of(FieldSection::model), name))
    return fmt::format("it is a size of the model: model = preset(\"NAME\", {{ {} = ... }})", name);
  if (contains(plan::fields_of(FieldSection::hardware), name))
    return "it belongs in hardware = { ... }";
  if (contains(plan::fields_of(FieldSection::batch), name)) return "it belongs in batch = { ... }";
  return "";
}

std::string in_file(const std::string& file, const std::string& place) {
  return place.starts_with(file) ? place : file + ": " + place;
}

std::vector<std::string> SpaceReader::names(const Allowed& allowed) const {
  std::vector<std::string> all = allowed.others;
  for (const auto section : allowed.sections) {
    const auto& fields = plan::fields_of(section);
    all.insert(all.end(), fields.begin(), fields.end());
  }
  if (allowed.family)
    for (const auto& size : allowed.family->open_names()) all.push_back(size);
  if (allowed.strategy)
    for (const auto& param : allowed.strategy->params) all.push_back(param.name);
  return all;
}

void SpaceReader::refuse(const std::string& name, const Allowed& allowed,
                         const std::string& place) {
  const auto advice = section_advice(name);
  error(place, "no such field", advice.empty() ? suggestion(name, names(allowed)) : advice);
}

Result<plan::Value> SpaceReader::conform(const std::string& name, const plan::Value& value,
                                         const Allowed& allowed, const std::string& place) const {
  static const plan::Strategy kNone;
  const auto& strategy = allowed.strategy ? *allowed.strategy : kNone;
  const int field = plan::field_index(name, strategy);
  if (field < plan::kFields) return plan::conform(static_cast<plan::Field>(field), value, place);
  return plan::conform(strategy.params[static_cast<std::size_t>(field - plan::kFields)], value,
                       place);
}

plan::SweepSpace SpaceReader::read(const sol::table& table, const Allowed& allowed,
                                   const std::string& place) {
  plan::SweepSpace space;
  const auto keys = keys_of(table, place, errors_);
  for (std::size_t i = 0; i < keys.items.size(); ++i) {
    const auto item_place = fmt::format("{}[{}]", place, i + 1);
    if (tag_of(keys.items[i]).kind == "zip")
      read_zip(keys.items[i].as<sol::table>(), allowed, item_place, space);
    else
      error(item_place, fmt::format("{} without a name", type_name(keys.items[i])),
            "write name = value; only zip{} stands without one");
  }
  for (const auto& [name, value] : keys.fields) {
    const auto field_place = below(place, name);
    if (!contains(names(allowed), name))
      refuse(name, allowed, field_place);
    else if (!contains(allowed.others, name))
      read_field(name, value, allowed, field_place, space);
  }
  check_repeats(space, place);
  return space;
}

// Reports a field given twice: in zip{} and beside it, or as powersgd_rank and powersgd{ rank }.
// One of them would silently win.
void SpaceReader::check_repeats(const plan::SweepSpace& space, const std::string& place) {
  std::set<std::string> seen;
  const auto see = [&](const std::string& field) {
    if (!seen.insert(field).second)
      error(below(place, field), "is given twice", "give it once, in zip{} or on its own");
  };
  for (const auto& axis : space.axes)
    for (const auto& field : axis.fields) see(field);
  for (const auto& derived : space.derived) see(derived.field);
}

void SpaceReader::read_field(const std::string& name, const sol::object& value,
                             const Allowed& allowed, const std::string& place,
                             plan::SweepSpace& space) {
  if (value.get_type() == sol::type::function) {
    const sol::reference function = value;
    const auto where = in_file(file_, place);
    space.derived.push_back(
        {name,
         [this_state = &state_, function,
          where](const plan::Lookup& lookup) -> Result<plan::Value> {
           const auto result = this_state->call_with_record(function, lookup);
           if (!result) return result.error();
           const auto derived = to_value(*result);
           if (!derived || !plan::is_given(*derived))
             return Error{where, fmt::format("the function returned {}", type_name(*result)),
                          "return a number, a string, true or false"};
           return *derived;
         },
         where});
    return;
  }
  plan::SweepAxis axis;
  axis.fields.push_back(name);
  read_points(name, value, allowed, place, axis);
  if (!axis.points.empty()) space.axes.push_back(std::move(axis));
}

void SpaceReader::read_points(const std::string& name, const sol::object& value,
                              const Allowed& allowed, const std::string& place,
                              plan::SweepAxis& axis) {
  const auto tag = tag_of(value);
  if (tag.kind == "choice") return read_choice(name, value.as<sol::table>(), allowed, place, axis);
  if (value.get_type() != sol::type::table || !tag.kind.empty())
    return read_plain(name, value, allowed, place, axis);
  const auto before = errors_.size();
  const auto keys = keys_of(value.as<sol::table>(), place, errors_);
  if (errors_.size() > before) return;
  if (!keys.fields.empty())
    return error(place + "." + printable(keys.fields.front().first), "a name inside a list",
                 "a list sweeps over plain values: { 1, 2, 4 }");
  if (keys.items.empty())
    return error(place, "an empty list leaves nothing to run", "give at least one value");
  for (std::size_t i = 0; i < keys.items.size(); ++i) {
    const auto item_place = fmt::format("{}[{}]", place, i + 1);
    if (tag_of(keys.items[i]).kind == "choice")
      read_choice(name, keys.items[i].as<sol::table>(), allowed, item_place, axis);
    else
      read_plain(name, keys.items[i], allowed, item_place, axis);
  }
}

void SpaceReader::read_plain(const std::string& name, const sol::object& value,
                             const Allowed& allowed, const std::string& place,
                             plan::SweepAxis& axis) {
  const auto plain = to_value(value);
  if (!plain || !plan::is_given(*plain))
    return error(place, fmt::format("{} is not a value", type_name(value)),
                 "write a number, a string, true, false, or a list of them");
  const auto conformed = conform(name, *plain, allowed, place);
  if (errors_.add(conformed)) append_row(axis, {{name, *conformed}});
}

// compression = powersgd{ rank = { 1, 4 } }: the choice, and its own parameters beside it.
void SpaceReader::read_choice(const std::string& name, const sol::table& choice,
                              const Allowed& allowed, const std::string& place,
                              plan::SweepAxis& axis) {
  const auto tag = tag_of(choice);
  const auto valid = conform(name, plan::Value(tag.name), allowed, place);
  if (!errors_.add(valid)) return;
  std::vector<std::vector<std::pair<std::string, plan::Value>>> rows{{{name, *valid}}};
  std::vector<std::string> fields;
  if (allowed.strategy)
    for (const auto& param : allowed.strategy->params)
      if (param.parent == name && param.choice == tag.name) fields.push_back(param.field());
  if (fields.empty())
    return error(place, fmt::format("{}{{}} does not belong here", tag.name),
                 "write a plain value");
  const auto example = fmt::format("{}{{ {} = ... }}", tag.name, fields.front());
  for (const auto& [field, value] : fields_of(choice, place, example, errors_)) {
    const auto field_place = fmt::format("{}.{}", place, printable(field));
    if (!contains(fields, field)) {
      error(field_place, fmt::format("{} has no such field", tag.name), suggestion(field, fields));
      continue;
    }
    plan::SweepAxis inner;
    const auto full_name = tag.name + "_" + field;
    inner.fields.push_back(full_name);
    read_points(full_name, value, allowed, field_place, inner);
    if (rows.size() * inner.points.size() > kLongestList)
      return error(place,
                   fmt::format("the lists in {}{{}} multiply to more than {} choices", tag.name,
                               kLongestList),
                   "shorten them");
    decltype(rows) product;
    for (const auto& row : rows)
      for (const auto& point : inner.points) {
        product.push_back(row);
        product.back().emplace_back(full_name, point.front());
      }
    rows = std::move(product);
  }
  for (auto& row : rows) append_row(axis, std::move(row));
}

// zip{ tensor_parallel = {4, 8}, pipeline_parallel = {12, 6} }: the lists are combined element by
// element.
void SpaceReader::read_zip(const sol::table& zip, const Allowed& allowed, const std::string& place,
                           plan::SweepSpace& space) {
  plan::SweepAxis axis;
  std::vector<plan::SweepAxis> lists;
  const auto before = errors_.size();
  const std::string example = "zip{ tensor_parallel = { 4, 8 }, pipeline_parallel = { 12, 6 } }";
  for (const auto& [name, value] : fields_of(zip, place, example, errors_)) {
    const auto field_place = below(place, name);
    if (!contains(names(allowed), name)) {
      refuse(name, allowed, field_place);
      continue;
    }
    auto& list = lists.emplace_back();
    list.fields.push_back(name);
    read_points(name, value, allowed, field_place, list);
  }
  if (errors_.size() > before) return;
  if (lists.empty())
    return error(place, "zip{} needs at least two lists",
                 "write zip{ tensor_parallel = { 4, 8 }, pipeline_parallel = { 12, 6 } }");
  for (const auto& list : lists) {
    if (list.points.size() != lists.front().points.size())
      return error(
          place,
          fmt::format("zip{{}} pairs {} values of {} with {} of {}", lists.front().points.size(),
                      lists.front().fields.front(), list.points.size(), list.fields.front()),
          "make the lists equally long");
    axis.fields.insert(axis.fields.end(), list.fields.begin(), list.fields.end());
  }
  for (std::size_t i = 0; i < lists.front().points.size(); ++i) {
    auto& point = axis.points.emplace_back();
    for (const auto& list : lists)
      point.insert(point.end(), list.points[i].begin(), list.points[i].end());
  }
  space.axes.push_back(std::move(axis));
}

}  // namespace orch::experiment
