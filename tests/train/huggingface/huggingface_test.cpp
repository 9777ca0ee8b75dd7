#include "core/train/huggingface/huggingface.h"

#include "core/plan/family.h"
#include "tests/place.h"
#include "tests/test.h"
#include "tests/train/huggingface/weights.h"

using namespace made;
using huggingface::export_model;
using huggingface::import_model;

namespace {

constexpr std::int64_t kHidden = 6, kHeads = 2, kHeadDim = 3, kVocab = 5, kSeq = 4;

// Two layers, written by hand.
std::vector<NamedShape> parameters(const std::string& family) {
  std::vector<NamedShape> all{{"word_embedding.weight", {kVocab, kHidden}}};
  if (family == "gpt") all.push_back({"position_embedding.weight", {kSeq, kHidden}});
  if (family == "bloom")
    for (const auto* name : {"embedding_norm.weight", "embedding_norm.bias"})
      all.push_back({name, {kHidden}});
  for (const std::string layer : {"layers.0.", "layers.1."})
    for (const auto& [name, shape] : std::vector<NamedShape>{{"norm1.weight", {6}},
                                                             {"norm1.bias", {6}},
                                                             {"attention.qkv.weight", {18, 6}},
                                                             {"attention.qkv.bias", {18}},
                                                             {"attention.out.weight", {6, 6}},
                                                             {"attention.out.bias", {6}},
                                                             {"norm2.weight", {6}},
                                                             {"norm2.bias", {6}},
                                                             {"mlp.up.weight", {24, 6}},
                                                             {"mlp.up.bias", {24}},
                                                             {"mlp.down.weight", {6, 24}},
                                                             {"mlp.down.bias", {6}}})
      all.push_back({layer + name, shape});
  all.push_back({"final_norm.weight", {kHidden}});
  all.push_back({"final_norm.bias", {kHidden}});
  return all;
}

CheckpointFacts facts_of(const std::string& family) {
  auto facts = at_step(50);
  facts.texts["model"] =
      "{\"family\":\"" + family + R"(","layers":2,"hidden":6,"heads":2,"vocab":5,"seq":4})";
  return facts;
}

// Each element of each parameter is different: the parameter's index times 1000 plus the element's.
fs::path written(const TestFolder& place, const std::string& family, float base = 0) {
  SavedState weights;
  for (const auto& [name, shape] : parameters(family)) {
    weights.pieces.push_back(
        saved(TensorPiece::whole("weights/" + name, TensorDtype::f32, shape), base));
    base += 1000;
  }
  SavedState other{
      {saved(TensorPiece::whole("exp_avg/word_embedding.weight", TensorDtype::f32, {30}))}};
  REQUIRE(write_all(place.root() / "run/checkpoints", facts_of(family), {weights, other}));
  return place.root() / "run";
}

std::string reason(const fs::path& from, const fs::path& to) {
  const auto imported = import_model(from, to);
  return imported ? "" : text(imported.error());
}

void replace(const fs::path& file, const std::string& from, const std::string& to) {
  auto content = *read_file(file);
  REQUIRE(content.find(from) != std::string::npos);
  content.replace(content.find(from), from.size(), to);
  std::ofstream(file) << content;
}

}  // namespace

TEST_CASE("numbers that f16 does not have are no infinities, but an error", "[huggingface]") {
  const TestFolder place;
  const auto reader = opened(written(place, "gpt", 1e6f));
  huggingface::ExportOptions options;
  options.dtype = TensorDtype::f16;
  const auto refused = huggingface::export_model(reader, place.root() / "out", options);
  REQUIRE_FALSE(refused);
  CHECK(text(refused.error()).find("f16 ends at 65504") != std::string::npos);
  CHECK_FALSE(fs::exists(place.root() / "out"));
  options.dtype = TensorDtype::bf16;
  CHECK(huggingface::export_model(reader, place.root() / "out", options));
}

TEST_CASE("a model goes out and comes back equal to the bit", "[huggingface]") {
  for (const std::string family : {"gpt", "bloom"}) {
    const TestFolder place;
    const auto before = opened(written(place, family));
    REQUIRE(export_model(before, place.root() / "out"));
    const auto imported = import_model(place.root() / "out", place.root() / "back");
    REQUIRE(imported);
    CHECK(imported->model == plan::sized(family, "", 2, kHidden, kHeads, kVocab, kSeq));
    const auto after = opened(place.root() / "back");
    CHECK(after.facts().step == 0);
    CHECK(after.names().size() == parameters(family).size());
    for (const auto& parameter : parameters(family)) {
      INFO(parameter.first);
      CHECK(ours(after, parameter) == ours(before, parameter));
    }
  }
}

TEST_CASE("c_attn has all q, all k, all v in its columns", "[huggingface]") {
  const TestFolder place;
  const auto reader = opened(written(place, "gpt"));
  REQUIRE(export_model(reader, place.root() / "out"));
  const auto file = place.root() / "out/model.safetensors";
  const auto weight = ours(reader, {"layers.1.attention.qkv.weight", {18, 6}});
  const auto bias = ours(reader, {"layers.1.attention.qkv.bias", {18}});
  const auto c_attn = theirs(file, "transformer.h.1.attn.c_attn.weight");
  const auto c_bias = theirs(file, "transformer.h.1.attn.c_attn.bias");
  REQUIRE(c_attn.size() == 6 * 18);
  for (std::size_t head = 0; head < kHeads; ++head)
    for (std::size_t part = 0; part < 3; ++part)
      for (std::size_t i = 0; i < kHeadDim; ++i) {
        const auto row = head * 3 * kHeadDim + part * kHeadDim + i;
        const auto column = part * kHidden + head * kHeadDim + i;
        CHECK(c_bias[column] == bias[row]);
        for (std::size_t in = 0; in < kHidden; ++in)
          CHECK(c_attn[in * 3 * kHidden + column] == weight[row * kHidden + in]);
      }
}

TEST_CASE("GPT-2's matrices are transposed, BLOOM's are not", "[huggingface]") {
  const TestFolder place;
  const auto gpt = opened(written(place, "gpt"));
  REQUIRE(export_model(gpt, place.root() / "gpt"));
  const auto up = ours(gpt, {"layers.0.mlp.up.weight", {24, 6}});
  const auto c_fc =
      theirs(place.root() / "gpt/model.safetensors", "transformer.h.0.mlp.c_fc.weight");
  for (std::size_t out = 0; out < 24; ++out)
    for (std::size_t in = 0; in < 6; ++in) CHECK(c_fc[in * 24 + out] == up[out * 6 + in]);

  const TestFolder other;
  const auto bloom = opened(written(other, "bloom"));
  REQUIRE(export_model(bloom, other.root() / "bloom"));
  CHECK(theirs(other.root() / "bloom/model.safetensors",
               "transformer.h.0.self_attention.query_key_value.weight") ==
        ours(bloom, {"layers.0.attention.qkv.weight", {18, 6}}));
}

TEST_CASE("a large model goes into several files, and comes back in several shares",
          "[huggingface]") {
  const TestFolder place;
  const auto before = opened(written(place, "gpt"));
  const auto exported = export_model(before, place.root() / "out", {TensorDtype::f32, 1000, ""});
  REQUIRE(exported);
  CHECK(exported->files > 3);
  CHECK(fs::exists(place.root() / "out/model.safetensors.index.json"));
  REQUIRE(import_model(place.root() / "out", place.root() / "back", 1500));
  const auto after = opened(place.root() / "back");
  CHECK(after.facts().ranks > 2);
  for (const auto& parameter : parameters("gpt"))
    CHECK(ours(after, parameter) == ours(before, parameter));
  const auto second = "model-00002-of-0000" + std::to_string(exported->files) + ".safetensors";
  REQUIRE(fs::remove(place.root() / "out" / second));
  CHECK_THAT(reason(place.root() / "out", place.root() / "new"), ContainsSubstring(second));
}

TEST_CASE("half the bytes in 16 bits, rounded", "[huggingface]") {
  const TestFolder place;
  const auto before = opened(written(place, "gpt"));
  const auto full = export_model(before, place.root() / "f32");
  for (const auto dtype : {TensorDtype::bf16, TensorDtype::f16}) {
    const auto out = place.root() / (dtype == TensorDtype::f16 ? "f16" : "bf16");
    const auto exported = export_model(before, out, {dtype, 5'000'000'000, ""});
    REQUIRE(exported);
    CHECK(exported->bytes * 2 == full->bytes);
    REQUIRE(import_model(out, out / "back"));
    const auto after = ours(opened(out / "back"), {"final_norm.weight", {6}});
    // 26,000 to 26,005: numbers of eight bits have steps of 128 there, those of eleven of 16.
    const float rounded = dtype == TensorDtype::f16 ? 26'000 : 25'984;
    CHECK(after == std::vector<float>(6, rounded));
  }
}

TEST_CASE("a folder that is there stays as it is", "[huggingface]") {
  const TestFolder place;
  const auto reader = opened(written(place, "gpt"));
  place.file("full/notes.txt", "mine");
  const auto exported = export_model(reader, place.root() / "full");
  CHECK_THAT(text(exported.error()), ContainsSubstring("exists and is not empty"));
  CHECK(*read_file(place.root() / "full/notes.txt") == "mine");
  fs::create_directories(place.root() / "empty");
  REQUIRE(export_model(reader, place.root() / "empty/"));
  CHECK_THAT(reason(place.root() / "empty", place.root() / "full"),
             ContainsSubstring("exists and is not empty"));
}

TEST_CASE("a checkpoint of another model is refused, and nothing is left behind", "[huggingface]") {
  const TestFolder place;
  REQUIRE(write_all(place.root() / "a", at_step(1), {simple(1)}));
  CHECK_THAT(text(export_model(opened(place.root() / "a"), place.root() / "out").error()),
             ContainsSubstring("which model"));
  REQUIRE(write_all(place.root() / "b", facts_of("gpt"), {simple(1)}));
  CHECK_THAT(text(export_model(opened(place.root() / "b"), place.root() / "out").error()),
             ContainsSubstring("weights/w: does not exist"));
  REQUIRE(write_all(place.root() / "c", facts_of("gpt"), {SavedState{}}));
  CHECK_THAT(text(export_model(opened(place.root() / "c"), place.root() / "out").error()),
             ContainsSubstring("weights/word_embedding.weight: not in this checkpoint"));
  CHECK(std::distance(fs::directory_iterator(place.root()), {}) == 3);
}

TEST_CASE("models that compute something else are not imported", "[huggingface]") {
  const TestFolder place;
  REQUIRE(export_model(opened(written(place, "gpt")), place.root() / "good"));
  const auto config = place.root() / "good/config.json";
  const auto good = *read_file(config);
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::ofstream(config) << good;
    replace(config, from, to);
    return reason(place.root() / "good", place.root() / "new");
  };
  CHECK_THAT(refused("\"gpt2\"", "\"opt\""), ContainsSubstring("qwen3 can be imported"));
  CHECK_THAT(refused("gelu_new", "relu"), ContainsSubstring("activation_function is \"relu\""));
  CHECK_THAT(refused("1e-05", "1e-6"), ContainsSubstring("layer_norm_epsilon is 1e-06"));
  CHECK_THAT(refused("\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false"),
             ContainsSubstring("tie_word_embeddings is false"));
  CHECK_THAT(refused("\"n_head\": 2", "\"n_head\": 4"),
             ContainsSubstring("hidden 6 does not divide into 4 heads"));
  CHECK_THAT(refused("\"n_layer\": 2", "\"n_layer\": \"2\""), ContainsSubstring("n_layer"));
  CHECK_THAT(refused("\"n_layer\": 2", "\"n_layer\": 3"),
             ContainsSubstring("h.2.ln_1.weight: missing"));
  CHECK_THAT(refused("\"n_layer\": 2", "\"n_layer\": 1"),
             ContainsSubstring("h.1.attn.c_attn.bias: our model has no such tensor"));
  CHECK_THAT(refused("\"vocab_size\": 5", "\"vocab_size\": 7"),
             ContainsSubstring("wte.weight: has shape [5, 6], and config.json says [7, 6]"));
  CHECK_FALSE(fs::exists(place.root() / "new"));
  std::ofstream(config) << good;
  fs::rename(place.root() / "good/model.safetensors", place.root() / "good/pytorch_model.bin");
  CHECK_THAT(reason(place.root() / "good", place.root() / "new"),
             ContainsSubstring("safe_serialization"));
}
