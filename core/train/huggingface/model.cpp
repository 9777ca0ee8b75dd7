#include "core/train/huggingface/model.h"

#include <algorithm>
#include <array>

#include "core/base/json_fields.h"
#include "core/base/text.h"
#include "core/plan/family.h"
#include "core/plan/model_json.h"

namespace orch::huggingface {
namespace {

const char* torch_name(checkpoint::TensorDtype dtype) {
  if (dtype == checkpoint::TensorDtype::bf16) return "bfloat16";
  return dtype == checkpoint::TensorDtype::f16 ? "float16" : "float32";
}

constexpr std::array kArchitectures{&kGpt2, &kBloom, &kLlama, &kMistral, &kQwen2, &kQwen3};

// The first architecture for which `is` holds; null: none.
template <class Is>
const Architecture* find(const Is& is) {
  const auto found = std::find_if(kArchitectures.begin(), kArchitectures.end(), is);
  return found == kArchitectures.end() ? nullptr : *found;
}

auto named(const std::string& model_type) {
  return [&](const Architecture* one) { return one->model_type == model_type; };
}

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const auto* architecture : kArchitectures) names.push_back(architecture->model_type);
  return names;
}

}  // namespace

Result<plan::Model> model_of(const checkpoint::CheckpointFacts& facts) {
  const auto found = facts.texts.find("model");
  auto model = found == facts.texts.end() ? Result<plan::Model>(Error{})
                                          : plan::parse_model(found->second, "checkpoint: model");
  if (model) return model;
  return Error{"checkpoint", "does not say which model it is of",
               "use a checkpoint written by orch"};
}

std::string config_json(const plan::Model& model, const Architecture& architecture,
                        checkpoint::TensorDtype dtype) {
  Json json{{"architectures", {architecture.class_name}}, {"model_type", architecture.model_type}};
  json.update(architecture.config(model));
  json["use_cache"] = true;
  json["torch_dtype"] = torch_name(dtype);
  return json.dump(2) + "\n";
}

Result<DescribedModel> parse_config(const std::string& text, const std::string& place) {
  const auto json = parse_json<Json>(text);
  if (!json.is_object()) return Error{printable(place), "is not a JSON object", "check the folder"};
  Config config{json, printable(place)};
  const auto* type = config.find({"model_type"});
  const auto* name = type ? type->get_ptr<const std::string*>() : nullptr;
  const auto* architecture = name ? find(named(*name)) : nullptr;
  if (!architecture)
    return Error{printable(place), "model_type is " + (type ? printable(type->dump()) : "missing"),
                 join(type_names(), ", ") + " can be imported"};
  const auto model = architecture->read(config);
  std::vector<Error> reasons;
  if (config.errors.empty()) check_model(model, reasons);
  for (const auto& reason : reasons) config.refuse(reason.place + ": " + reason.fact);
  if (!config.errors.empty()) return config.errors;
  return DescribedModel{model, architecture};
}

Result<const Architecture*> choose(const plan::Model& model, const std::string& model_type) {
  const auto* found = model_type.empty()
                          ? find([&](const Architecture* one) { return one->fits(model); })
                          : find(named(model_type));
  if (found && found->fits(model)) return found;
  if (model_type.empty())
    return Error{"checkpoint",
                 "no model of transformers computes what this " + model.family + " does",
                 join(type_names(), ", ") + " can be exported"};
  return Error{"--architecture",
               found ? found->class_name + " does not compute what this " + model.family + " does"
                     : "no '" + printable(model_type) + "'",
               suggestion(model_type, type_names())};
}

}  // namespace orch::huggingface
