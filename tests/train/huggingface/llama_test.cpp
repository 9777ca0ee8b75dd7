#include <nlohmann/json.hpp>

#include "core/plan/family.h"
#include "core/plan/model_json.h"
#include "core/train/huggingface/huggingface.h"
#include "tests/place.h"
#include "tests/test.h"
#include "tests/train/huggingface/weights.h"

using namespace made;
using huggingface::export_model;
using huggingface::import_model;

namespace {

// Four heads of two on two keys and values; an MLP of three.
plan::Model small() {
  auto model = plan::sized("llama", "", 2, 8, 4, 5, 4);
  model.kv_heads = 2;
  model.ffn_hidden = 3;
  return model;
}

// Written by hand.
std::vector<NamedShape> parameters(const plan::Model& model) {
  std::vector<NamedShape> all{{"word_embedding.weight", {5, 8}}};
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    for (const auto& [name, shape] : std::vector<NamedShape>{{"norm1.weight", {8}},
                                                             {"attention.qkv.weight", {16, 8}},
                                                             {"attention.out.weight", {8, 8}},
                                                             {"norm2.weight", {8}},
                                                             {"mlp.up.weight", {6, 8}},
                                                             {"mlp.down.weight", {8, 3}}})
      all.push_back({layer + name, shape});
    if (model.qkv_bias) all.push_back({layer + "attention.qkv.bias", {16}});
    if (model.qk_norm) all.push_back({layer + "attention.q_norm.weight", {2}});
    if (model.qk_norm) all.push_back({layer + "attention.k_norm.weight", {2}});
  }
  all.push_back({"final_norm.weight", {8}});
  if (!model.tied) all.push_back({"head.weight", {5, 8}});
  return all;
}

// Each element of each parameter is different.
fs::path written(const TestFolder& place, const plan::Model& model) {
  auto facts = at_step(50);
  facts.texts["model"] = plan::model_json(model);
  SavedState weights;
  float base = 0;
  for (const auto& [name, shape] : parameters(model)) {
    weights.pieces.push_back(
        saved(TensorPiece::whole("weights/" + name, TensorDtype::f32, shape), base));
    base += 1000;
  }
  REQUIRE(write_all(place.root() / "run/checkpoints", facts, {weights}));
  return place.root() / "run";
}

// Rows of eight.
std::vector<float> rows(const std::vector<float>& from, const std::vector<std::size_t>& which) {
  std::vector<float> out;
  for (const auto row : which)
    out.insert(out.end(), from.begin() + static_cast<std::ptrdiff_t>(8 * row),
               from.begin() + static_cast<std::ptrdiff_t>(8 * row + 8));
  return out;
}

std::string type_of(const fs::path& folder) {
  return nlohmann::json::parse(*read_file(folder / "config.json")).at("model_type");
}

}  // namespace

TEST_CASE("a llama's groups become all q, all k, all v; its pairs gates and ups", "[huggingface]") {
  const TestFolder place;
  const auto reader = opened(written(place, small()));
  const auto exported = export_model(reader, place.root() / "out");
  REQUIRE(exported);
  CHECK(exported->class_name == "LlamaForCausalLM");
  const auto file = place.root() / "out/model.safetensors";
  const auto qkv = ours(reader, {"layers.1.attention.qkv.weight", {16, 8}});
  const std::string attention = "model.layers.1.self_attn.", mlp = "model.layers.1.mlp.";
  // Group 0: heads 0 and 1 (rows 0 to 3), its key (4, 5), its value (6, 7); group 1 from row 8 on.
  CHECK(theirs(file, attention + "q_proj.weight") == rows(qkv, {0, 1, 2, 3, 8, 9, 10, 11}));
  CHECK(theirs(file, attention + "k_proj.weight") == rows(qkv, {4, 5, 12, 13}));
  CHECK(theirs(file, attention + "v_proj.weight") == rows(qkv, {6, 7, 14, 15}));
  const auto up = ours(reader, {"layers.1.mlp.up.weight", {6, 8}});
  CHECK(theirs(file, mlp + "gate_proj.weight") == rows(up, {0, 2, 4}));
  CHECK(theirs(file, mlp + "up_proj.weight") == rows(up, {1, 3, 5}));
  CHECK(theirs(file, "lm_head.weight") == ours(reader, {"head.weight", {5, 8}}));
  CHECK(theirs(file, "model.norm.weight") == ours(reader, {"final_norm.weight", {8}}));
}

TEST_CASE("each kind of llama goes out by its name and comes back equal", "[huggingface]") {
  const auto check = [](const plan::Model& model, const std::string& type,
                        const std::string& asked) {
    INFO(type);
    const TestFolder place;
    const auto before = opened(written(place, model));
    huggingface::ExportOptions options;
    options.architecture = asked;
    options.file_bytes = 400;  // several files
    REQUIRE(export_model(before, place.root() / "out", options));
    CHECK(type_of(place.root() / "out") == type);
    const auto imported = import_model(place.root() / "out", place.root() / "back");
    REQUIRE(imported);
    CHECK(imported->model == model);
    const auto after = opened(place.root() / "back");
    CHECK(after.names().size() == parameters(model).size());
    for (const auto& parameter : parameters(model)) {
      INFO(parameter.first);
      CHECK(ours(after, parameter) == ours(before, parameter));
    }
  };
  auto model = small();
  check(model, "llama", "");
  check(model, "mistral", "mistral");
  model.tied = true;
  model.rope_theta = 5e5;
  model.rope_factor = 8;
  check(model, "llama", "");
  model = small();
  model.qkv_bias = true;
  model.norm_epsilon = 1e-6;
  check(model, "qwen2", "");
  model = small();
  model.qk_norm = true;
  check(model, "qwen3", "");
}

TEST_CASE("what transformers does not compute is not exported as if it did", "[huggingface]") {
  auto model = small();
  model.qk_norm = model.qkv_bias = true;
  const TestFolder place;
  const auto both = export_model(opened(written(place, model)), place.root() / "out");
  REQUIRE_FALSE(both);
  CHECK_THAT(text(both.error()), ContainsSubstring("no model of transformers computes"));
  CHECK_FALSE(fs::exists(place.root() / "out"));

  // As for GPT-2, except under the roots of norms.
  const TestFolder near;
  auto gpt = plan::sized("transformer", "", 2, 8, 4, 5, 4);
  gpt.bias = gpt.tied = true;
  gpt.norm_epsilon = 1e-6;
  CHECK_FALSE(export_model(opened(written(near, gpt)), near.root() / "out"));

  const TestFolder other;
  huggingface::ExportOptions options;
  options.architecture = "mistrl";
  const auto typo = export_model(opened(written(other, small())), other.root() / "out", options);
  REQUIRE_FALSE(typo);
  CHECK_THAT(text(typo.error()), ContainsSubstring("did you mean 'mistral'"));
}

TEST_CASE("a config that asks for more than ours can do says what", "[huggingface]") {
  const TestFolder place;
  REQUIRE(export_model(opened(written(place, small())), place.root() / "out"));
  const auto refused = [&](const char* key, const nlohmann::json& value) {
    auto json = nlohmann::json::parse(*read_file(place.root() / "out/config.json"));
    json[key] = value;
    std::ofstream(place.root() / "out/config.json") << json;
    const auto imported = import_model(place.root() / "out", place.root() / "back");
    json.erase(key);
    std::ofstream(place.root() / "out/config.json") << json;
    return imported ? std::string() : text(imported.error());
  };
  CHECK_THAT(refused("attention_bias", true), ContainsSubstring("attention_bias is true"));
  CHECK_THAT(refused("hidden_act", "gelu"), ContainsSubstring("hidden_act"));
  CHECK_THAT(refused("rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}}),
             ContainsSubstring("yarn"));
  CHECK_THAT(refused("num_key_value_heads", 3), ContainsSubstring("kv_heads"));
  CHECK_THAT(refused("rms_norm_eps", -1), ContainsSubstring("rms_norm_eps"));
}
