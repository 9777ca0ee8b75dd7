#include "backends/runtime/loop/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/text.h"

namespace orch::train {
namespace {

std::string shown(const nlohmann::json& value) {
  return printable(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

void JsonFields::problem(const std::string& key, std::string fact, std::string fix) const {
  errors_.push_back({place_ + printable(key), std::move(fact), std::move(fix)});
}

const JsonFields::Json* JsonFields::find(const std::string& key) {
  known_.insert(key);
  const auto found = object_.find(key);
  if (found != object_.end()) return &*found;
  if (required_) problem(key, "is missing", "plan the experiment again");
  return nullptr;
}

void JsonFields::read(const std::string& key, std::int64_t& to, std::int64_t least,
                      std::int64_t most) {
  const auto* found = find(key);
  if (!found) return;
  const bool huge = found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX;
  if (found->is_number_integer() && !huge && found->get<std::int64_t>() >= least &&
      found->get<std::int64_t>() <= most)
    to = found->get<std::int64_t>();
  else
    problem(key, "is " + shown(*found),
            fmt::format("use a whole number from {} to {}", least, most));
}

void JsonFields::read(const std::string& key, double& to, double least, double most) {
  const auto* found = find(key);
  if (!found) return;
  if (found->is_number() && found->get<double>() >= least && found->get<double>() <= most)
    to = found->get<double>();
  else
    problem(key, "is " + shown(*found), fmt::format("use a number from {} to {}", least, most));
}

void JsonFields::read(const std::string& key, bool& to) {
  const auto* found = find(key);
  if (!found) return;
  if (found->is_boolean())
    to = found->get<bool>();
  else
    problem(key, "is " + shown(*found), "use true or false");
}

void JsonFields::read(const std::string& key, std::string& to) {
  const auto* found = find(key);
  if (!found) return;
  if (found->is_string())
    to = found->get<std::string>();
  else
    problem(key, "is " + shown(*found), "use a text");
}

void JsonFields::read(const std::string& key, std::string& to,
                      const std::vector<std::string>& choices) {
  auto word = to;
  read(key, word);
  if (word == to) return;
  if (std::find(choices.begin(), choices.end(), word) != choices.end())
    to = word;
  else
    problem(key, fmt::format("is '{}'", printable(word)), suggestion(word, choices));
}

const JsonFields::Json* JsonFields::section(const std::string& key) {
  const auto* found = find(key);
  if (!found || found->is_null()) return nullptr;
  if (found->is_object()) return found;
  problem(key, "is " + shown(*found), "use an object, {…}");
  return nullptr;
}

void JsonFields::reject_others() const {
  const std::vector<std::string> names(known_.begin(), known_.end());
  for (const auto& [key, value] : object_.items())
    if (!known_.contains(key)) problem(key, "no such field", suggestion(key, names));
}

}  // namespace orch::train
