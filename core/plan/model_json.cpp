#include "core/plan/model_json.h"

#include <fmt/format.h>

#include "core/base/json_fields.h"
#include "core/base/text.h"
#include "core/plan/family.h"

namespace orch::plan {

using SortedJson = nlohmann::json;

Value from_json(const SortedJson& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) return json.get<double>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  return {};
}

nlohmann::ordered_json json_of(const Value& value) {
  return std::visit(
      [](const auto& held) -> nlohmann::ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>)
          return nullptr;
        else
          return held;
      },
      value);
}

std::string model_json(const Model& model) {
  nlohmann::ordered_json json{{"family", model.family}};
  for (const auto& size : family_of(model).sizes)
    if (size.open) json[std::string(name(size.field))] = json_of(get(model, size.field));
  return json.dump();
}

Result<Model> read_model(const SortedJson& json, const std::string& place) {
  Errors errors;
  const auto complain = [&](std::string_view field, std::string fact, std::string fix = "") {
    errors.push_back({fmt::format("{}.{}", place, field), std::move(fact), std::move(fix)});
  };
  const auto held = json.is_object() ? json.find("family") : json.end();
  const auto* word = held == json.end() ? nullptr : held->get_ptr<const std::string*>();
  const auto* family = word ? find_family(*word) : nullptr;
  if (!family) {
    complain("family", word ? fmt::format("no family '{}'", printable(*word)) : "is missing",
             word ? suggestion(*word, family_names()) : "");
    return errors;
  }
  auto model = complete(*family, [&](Field field) -> Value {
    const auto& param = param_of(field);
    if (const auto found = json.find(param.name); found != json.end()) {
      auto value = conform(param, from_json(*found), place + "." + param.name);
      if (errors.add(value)) return *value;
    } else if (family->find(field)->must_be_said()) {
      complain(param.name, "is missing");
    } else {
      return {};
    }
    return param.type == ParamType::integer ? Value(std::int64_t{1}) : Value();
  });
  if (!errors.empty()) return errors;
  return model;
}

Result<Model> parse_model(const std::string& text, const std::string& place) {
  const auto json = parse_json(text);
  auto model = read_model(json, place);
  if (!model) return model;
  Errors reasons;
  check_model(*model, reasons);
  for (auto& reason : reasons) reason.place = place + "." + reason.place;
  if (!reasons.empty()) return reasons;
  return model;
}

}  // namespace orch::plan
