#include "core/base/flat_settings.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/json_fields.h"
#include "core/base/text.h"

namespace orch {
namespace {

std::string unquoted(std::string_view text) {
  text = trim(text);
  const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                      text.back() == text.front();
  return std::string(quoted ? text.substr(1, text.size() - 2) : text);
}

// Without a comment that begins outside quotes.
std::string_view without_comment(std::string_view line) {
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote != '\0')
      quote = line[i] == quote ? '\0' : quote;
    else if (line[i] == '"' || line[i] == '\'')
      quote = line[i];
    else if (line[i] == '#')
      return line.substr(0, i);
  }
  return line;
}

// [1, "a"] as 1,a; any other value as it is.
std::string plain_value(std::string_view text) {
  text = trim(text);
  if (!text.starts_with('[') || !text.ends_with(']')) return unquoted(text);
  std::vector<std::string> items;
  for (const auto& item : split(text.substr(1, text.size() - 2), ','))
    if (!trim(item).empty()) items.push_back(unquoted(item));
  return join(items, ",");
}

std::string below(const std::string& section, const std::string& name) {
  return section.empty() ? name : section + "." + name;
}

std::string json_value(const nlohmann::ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void add_json(const nlohmann::ordered_json& value, const std::string& path, FlatSettings& to) {
  if (value.is_object()) {
    for (const auto& [name, inner] : value.items()) add_json(inner, below(path, name), to);
  } else if (value.is_array()) {
    std::vector<std::string> items;
    for (const auto& item : value) items.push_back(json_value(item));
    to.emplace_back(path, join(items, ","));
  } else if (!value.is_null()) {
    to.emplace_back(path, json_value(value));
  }
}

FlatSettings toml(std::string_view text) {
  FlatSettings out;
  std::string section;
  for (const auto& each : split(text, '\n')) {
    const auto line = trim(without_comment(each));
    if (line.starts_with('[') && line.ends_with(']')) {
      section = unquoted(line.substr(1, line.size() - 2));
      continue;
    }
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    out.emplace_back(below(section, unquoted(line.substr(0, equals))),
                     plain_value(line.substr(equals + 1)));
  }
  return out;
}

// By indentation: a line without a value opens a section for the deeper ones.
FlatSettings yaml(std::string_view text) {
  FlatSettings out;
  std::vector<std::pair<std::size_t, std::string>> open;  // indentation and path
  for (const auto& each : split(text, '\n')) {
    const auto line = without_comment(each);
    const auto indent = line.find_first_not_of(' ');
    const auto colon = line.find(':');
    if (indent == std::string_view::npos || colon == std::string_view::npos || line[indent] == '-')
      continue;
    while (!open.empty() && open.back().first >= indent) open.pop_back();
    const auto path = below(open.empty() ? "" : open.back().second,
                            unquoted(line.substr(indent, colon - indent)));
    const auto value = plain_value(line.substr(colon + 1));
    if (value.empty())
      open.emplace_back(indent, path);
    else if (value != "null")
      out.emplace_back(path, value);
  }
  return out;
}

}  // namespace

Result<FlatSettings> flat_settings(const std::string& file, std::string_view text) {
  const auto start = trim(text);
  if (file.ends_with(".toml")) return toml(text);
  if (file.ends_with(".yaml") || file.ends_with(".yml")) return yaml(text);
  if (!file.ends_with(".json") && !start.starts_with('{'))
    return start.starts_with('[') ? toml(text) : yaml(text);
  const auto json = parse_json<nlohmann::ordered_json>(text);
  if (!json.is_object())
    return Error{printable(file), "not a JSON object", "check its commas and braces"};
  FlatSettings out;
  add_json(json, "", out);
  return out;
}

}  // namespace orch
