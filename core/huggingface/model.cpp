#include "core/huggingface/model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/json_fields.h"
#include "core/base/text.h"

namespace orch::huggingface {
namespace {

using Json = nlohmann::ordered_json;

const char* torch_name(checkpoint::Dtype dtype) {
  if (dtype == checkpoint::Dtype::bf16) return "bfloat16";
  return dtype == checkpoint::Dtype::f16 ? "float16" : "float32";
}

Json gpt2_config(const Model& m) {
  // Of GPT-2's own vocabulary, and of bytes with one sign after them, the last one ends a text.
  const auto end_of_text = m.vocab - 1;
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"vocab_size", m.vocab},
          {"n_positions", m.seq},
          {"n_ctx", m.seq},
          {"n_embd", m.hidden},
          {"n_layer", m.layers},
          {"n_head", m.heads},
          {"n_inner", nullptr},
          {"activation_function", "gelu_new"},
          {"resid_pdrop", 0.0},
          {"embd_pdrop", 0.0},
          {"attn_pdrop", 0.0},
          {"scale_attn_weights", true},
          {"bos_token_id", end_of_text},
          {"eos_token_id", end_of_text}};
}

Json bloom_config(const Model& m) {
  const auto token = [&](std::int64_t id) { return std::min(id, m.vocab - 1); };
  return {{"architectures", {"BloomForCausalLM"}},
          {"model_type", "bloom"},
          {"vocab_size", m.vocab},
          {"seq_length", m.seq},
          {"hidden_size", m.hidden},
          {"n_layer", m.layers},
          {"n_head", m.heads},
          {"apply_residual_connection_post_layernorm", false},
          {"hidden_dropout", 0.0},
          {"attention_dropout", 0.0},
          {"pretraining_tp", 1},
          {"slow_but_exact", false},
          {"bos_token_id", token(1)},
          {"eos_token_id", token(2)},
          {"pad_token_id", token(3)}};
}

// One field of a config under any of its names.
struct Config {
  const Json& json;
  std::string place;
  Errors errors;

  const Json* find(std::initializer_list<const char*> names) const {
    for (const auto* name : names)
      if (const auto found = json.find(name); found != json.end() && !found->is_null())
        return &*found;
    return nullptr;
  }
  // No layer list and no matrix that a damaged file asks for may take all memory.
  static constexpr std::int64_t kMostLayers = 100'000, kMostWide = 10'000'000, kMostWords = 100'000'000;
  std::int64_t number(std::initializer_list<const char*> names, std::int64_t most,
                      std::int64_t missing = 0) {
    const auto* found = find(names);
    if (!found && missing > 0) return missing;
    if (found && found->is_number_integer() && *found > 0 && *found <= most)
      return found->get<std::int64_t>();
    refuse(std::string(*names.begin()) + " is missing or no number from 1 to " + std::to_string(most),
           "check the folder");
    return 1;
  }
  // A field that must have this value if it is there.
  void only(const char* name, const Json& value) {
    const auto* found = find({name});
    if (found && *found != value)
      refuse(std::string(name) + " is " + found->dump() + ", and our models have " + value.dump(),
             "");
  }
  void refuse(std::string fact, std::string fix) {
    errors.push_back({place, printable(fact), std::move(fix)});
  }
};

Model read_gpt2(Config& config) {
  Model m{"gpt",
          config.number({"n_layer", "num_hidden_layers"}, Config::kMostLayers),
          config.number({"n_embd", "hidden_size"}, Config::kMostWide),
          config.number({"n_head", "num_attention_heads"}, Config::kMostWide),
          config.number({"vocab_size"}, Config::kMostWords),
          config.number({"n_positions", "max_position_embeddings"}, Config::kMostWords)};
  const auto* activation = config.find({"activation_function"});
  if (activation && *activation != "gelu_new" && *activation != "gelu_pytorch_tanh" &&
      *activation != "gelu_fast")
    config.refuse("activation_function is " + activation->dump() + ", and our models have gelu_new",
                  "");
  config.only("n_inner", 4 * m.hidden);
  config.only("scale_attn_weights", true);
  config.only("scale_attn_by_inverse_layer_idx", false);
  return m;
}

Model read_bloom(Config& config) {
  Model m{"bloom",
          config.number({"n_layer", "num_hidden_layers"}, Config::kMostLayers),
          config.number({"n_embed", "hidden_size"}, Config::kMostWide),
          config.number({"n_head", "num_attention_heads"}, Config::kMostWide),
          config.number({"vocab_size"}, Config::kMostWords),
          config.number({"seq_length"}, Config::kMostWords, 2048)};
  config.only("apply_residual_connection_post_layernorm", false);
  return m;
}

}  // namespace

Result<Model> model_of(const checkpoint::Facts& facts) {
  const Error bad{"checkpoint", "does not say which model it is of",
                  "use one that orch has written"};
  const auto found = facts.texts.find("model");
  if (found == facts.texts.end()) return bad;
  try {
    const auto json = parse_json<Json>(found->second);
    Model m{json.at("family"), json.at("layers"), json.at("hidden"),
            json.at("heads"),  json.at("vocab"),  json.at("seq")};
    const auto fits = [](std::int64_t number, std::int64_t most) { return number >= 1 && number <= most; };
    if ((m.family != "gpt" && m.family != "bloom") || !fits(m.layers, Config::kMostLayers) ||
        !fits(m.hidden, Config::kMostWide) || !fits(m.heads, Config::kMostWide) ||
        m.hidden % m.heads != 0 || !fits(m.vocab, Config::kMostWords) || !fits(m.seq, Config::kMostWords))
      return bad;
    return m;
  } catch (const nlohmann::json::exception&) {
    return bad;
  }
}

std::string model_text(const Model& m) {
  return Json{{"family", m.family}, {"layers", m.layers}, {"hidden", m.hidden},
              {"heads", m.heads},   {"vocab", m.vocab},   {"seq", m.seq}}
      .dump();
}

std::string config_json(const Model& model, checkpoint::Dtype dtype) {
  auto json = model.family == "gpt" ? gpt2_config(model) : bloom_config(model);
  json["layer_norm_epsilon"] = 1e-5;
  json["initializer_range"] = 0.02;
  json["tie_word_embeddings"] = true;
  json["use_cache"] = true;
  json["torch_dtype"] = torch_name(dtype);
  return json.dump(2) + "\n";
}

Result<Model> parse_config(const std::string& text, const std::string& place) {
  const auto json = parse_json<Json>(text);
  if (!json.is_object()) return Error{printable(place), "is no JSON object", "check the folder"};
  Config config{json, printable(place), {}};
  const auto* type = config.find({"model_type"});
  const bool is_gpt = type && *type == "gpt2";
  if (!is_gpt && !(type && *type == "bloom"))
    return Error{printable(place), "model_type is " + (type ? printable(type->dump()) : "missing"),
                 "gpt2 and bloom can be imported"};
  const auto model = is_gpt ? read_gpt2(config) : read_bloom(config);
  if (model.hidden % model.heads != 0) config.refuse("hidden is no multiple of heads", "");
  config.only("layer_norm_epsilon", 1e-5);
  config.only("tie_word_embeddings", true);
  if (!config.errors.empty()) return config.errors;
  return model;
}

}  // namespace orch::huggingface
