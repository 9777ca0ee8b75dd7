#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/app/gather.h"
#include "core/base/number.h"
#include "core/base/text.h"

namespace orch::app {
namespace {

using record::Record;
using Selected = std::vector<const Record*>;

// Names that are not fields of a run but can be selected by.
const std::map<std::string, std::string (*)(const Record&), std::less<>> kOthers{
    {"id", [](const Record& r) { return r.id; }},
    {"source", [](const Record& r) { return r.source; }},
    {"table", [](const Record& r) { return r.table; }},
    {"state", [](const Record& r) { return std::string(record::name(r.state)); }},
    {"date", [](const Record& r) { return r.origin.date; }},
    {"commit", [](const Record& r) { return r.origin.commit; }},
    {"experiment", [](const Record& r) { return r.origin.experiment; }}};

std::string text_of(const Record& record, std::string_view name) {
  const auto other = kOthers.find(name);
  return other != kOthers.end() ? other->second(record) : record.field_text(name);
}

// 8 and 8.0 are equal.
bool same(const std::string& held, const std::string& wanted) {
  if (held == wanted) return true;
  const auto a = number_from<double>(held), b = number_from<double>(wanted);
  return a && b && *a == *b;
}

bool agrees(const Record& record, const std::string& name, const std::string& wanted) {
  const auto held = text_of(record, name);
  if (name == "date" || name == "commit") return !wanted.empty() && held.starts_with(wanted);
  return same(held, wanted);
}

std::vector<std::string> names_in(const RecordList& pool) {
  std::set<std::string> names;
  for (const auto& [name, read] : kOthers) names.insert(name);
  for (const auto& record : pool)
    for (const auto& field : record.fields) names.insert(field.name);
  return {names.begin(), names.end()};
}

std::vector<std::string> values_in(const RecordList& pool, const std::string& name) {
  std::set<std::string> values;
  for (const auto& record : pool)
    if (auto value = text_of(record, name); !value.empty()) values.insert(printable(value));
  constexpr std::size_t kMost = 12;
  std::vector<std::string> out(values.begin(), values.end());
  if (out.size() > kMost) {
    out.resize(kMost);
    out.emplace_back("…");
  }
  return out;
}

Selected keep(const RecordList& pool, const std::function<bool(const Record&)>& wanted) {
  Selected out;
  for (const auto& record : pool)
    if (wanted(record)) out.push_back(&record);
  return out;
}

Result<Selected> by_fields(const RecordList& pool, const std::string& word) {
  auto left = *select(pool, "");
  const auto known = names_in(pool);
  for (const auto& part : split(word, ',')) {
    const auto equals = part.find('=');
    const std::string name(trim(std::string_view(part).substr(0, equals)));
    if (equals == std::string::npos || std::find(known.begin(), known.end(), name) == known.end())
      return Error{printable(word), "no record has a field '" + printable(name) + "'",
                   suggestion(name, known)};
    const std::string wanted(trim(std::string_view(part).substr(equals + 1)));
    std::erase_if(left, [&](const Record* record) { return !agrees(*record, name, wanted); });
    if (left.empty())
      return Error{printable(word), fmt::format("no record has {}", printable(part)),
                   "there is: " + join(values_in(pool, name), ", ")};
  }
  return left;
}

}  // namespace

Result<Selected> select(const RecordList& pool, const std::string& word) {
  if (word.empty()) return keep(pool, [](const Record&) { return true; });
  if (word.find('=') != std::string::npos) return by_fields(pool, word);
  for (const auto* name : {"id", "strategy", "framework", "source", "table", "experiment", "date"})
    if (auto found = keep(pool, [&](const Record& r) { return agrees(r, name, word); });
        !found.empty())
      return found;
  // Shorter prefixes match too much.
  if (word.size() >= 4) {
    if (auto found = keep(pool, [&](const Record& r) { return agrees(r, "commit", word); });
        !found.empty())
      return found;
    if (auto found = keep(pool, [&](const Record& r) { return r.id.starts_with(word); });
        !found.empty())
      return found;
  }
  return Error{printable(word), "matches none of the records",
               "strategies here: " + join(values_in(pool, "strategy"), ", ") +
                   "; or write field=value,field=value"};
}

}  // namespace orch::app
