#include <fmt/format.h>

#include "core/plan/family.h"
#include "core/train/huggingface/architecture.h"

namespace orch::huggingface {
namespace {

using plan::Field;

// True for RMS norms, SwiGLU, rotary embeddings and no biases except in QKV: common to all four.
bool is_llama(const plan::Model& m) {
  return m.rms_norm && m.swiglu && m.rope && !m.alibi && !m.bias && !m.embedding_norm &&
         !m.mixture() && !m.latent();
}
bool is_plain(const plan::Model& m) { return is_llama(m) && !m.qkv_bias && !m.qk_norm; }

Json scaling(const plan::Model& m) {
  if (m.rope_factor == 1) return nullptr;
  return {{"rope_type", "llama3"},
          {"factor", m.rope_factor},
          {"low_freq_factor", m.rope_low},
          {"high_freq_factor", m.rope_high},
          {"original_max_position_embeddings", m.rope_original}};
}

Json config_of(const plan::Model& m) {
  const auto token = [&](std::int64_t id) { return std::min(id, m.vocab - 1); };
  return {{"vocab_size", m.vocab},
          {"hidden_size", m.hidden},
          {"intermediate_size", m.ffn_hidden},
          {"num_hidden_layers", m.layers},
          {"num_attention_heads", m.heads},
          {"num_key_value_heads", m.kv_heads},
          {"head_dim", m.head_dim},
          {"hidden_act", "silu"},
          {"max_position_embeddings", m.seq},
          {"rms_norm_eps", m.norm_epsilon},
          {"rope_theta", m.rope_theta},
          {"rope_scaling", scaling(m)},
          {"attention_dropout", 0.0},
          {"initializer_range", 0.02},
          {"tie_word_embeddings", m.tied},
          {"bos_token_id", token(1)},
          {"eos_token_id", token(2)}};
}

Json llama_config(const plan::Model& m) {
  auto json = config_of(m);
  json["attention_bias"] = json["mlp_bias"] = false;
  return json;
}
Json windowless_config(const plan::Model& m) {
  auto json = config_of(m);
  json["sliding_window"] = nullptr;
  return json;
}
Json qwen_config(const plan::Model& m) {
  auto json = config_of(m);
  json["attention_bias"] = false;
  json["use_sliding_window"] = false;
  return json;
}

// Version 5 of transformers stores theta and scaling in one object.
void read_rotations(Config& config, plan::Model& m) {
  const auto* five = config.find({"rope_parameters"});
  const auto* scaled = five ? five : config.find({"rope_scaling"});
  if (!five) m.rope_theta = config.real(Field::rope_theta, "rope_theta", 10'000);
  if (!scaled) return;
  Config inner{*scaled, config.place + (five ? ": rope_parameters" : ": rope_scaling")};
  if (!scaled->is_object())
    return config.refuse("rope_scaling is not an object", "check the folder");
  if (five) m.rope_theta = inner.real(Field::rope_theta, "rope_theta", 10'000);
  const auto* type = inner.find({"rope_type", "type"});
  if (type && *type == "llama3") {
    m.rope_factor = inner.real(Field::rope_factor, "factor", 8);
    m.rope_low = inner.real(Field::rope_low, "low_freq_factor", 1);
    m.rope_high = inner.real(Field::rope_high, "high_freq_factor", 4);
    m.rope_original = inner.size(Field::rope_original, {"original_max_position_embeddings"}, 8192);
  } else if (type && *type != "default") {
    config.refuse("rotations are stretched by " + type->dump() +
                  ", and ours as Llama 3's or not at all");
  }
  config.errors.insert(config.errors.end(), inner.errors.begin(), inner.errors.end());
}

plan::Model read_sizes(Config& config) {
  const auto hidden = config.size(Field::hidden, {"hidden_size"});
  const auto heads = config.size(Field::heads, {"num_attention_heads"});
  const auto layers = config.size(Field::layers, {"num_hidden_layers"});
  const auto vocab = config.size(Field::vocab, {"vocab_size"});
  auto m = plan::sized("llama", "", layers, hidden, heads, vocab,
                       config.size(Field::seq, {"max_position_embeddings"}));
  m.kv_heads = config.size(Field::kv_heads, {"num_key_value_heads"}, heads);
  m.head_dim = config.size(Field::head_dim, {"head_dim"}, m.head_dim);
  m.ffn_hidden = config.size(Field::ffn_hidden, {"intermediate_size"});
  m.norm_epsilon = config.real(Field::norm_epsilon, "rms_norm_eps", 1e-6);
  m.tied = config.flag("tie_word_embeddings", false);
  config.only("hidden_act", "silu");
  config.only("mlp_bias", false);
  read_rotations(config, m);
  return m;
}

plan::Model read_llama(Config& config) {
  config.only("attention_bias", false);
  return read_sizes(config);
}
// A window as long as the sequence has no effect.
plan::Model read_mistral(Config& config) {
  auto m = read_sizes(config);
  const auto* window = config.find({"sliding_window"});
  if (window && window->is_number_integer() && *window < m.seq)
    config.refuse(fmt::format("sliding_window is {} of {} positions, and ours see all of them",
                              window->dump(), m.seq),
                  "set max_position_embeddings to the window, and train with no longer samples");
  return m;
}
plan::Model read_qwen2(Config& config) {
  auto m = read_sizes(config);
  config.only("use_sliding_window", false);
  m.qkv_bias = true;
  return m;
}
plan::Model read_qwen3(Config& config) {
  auto m = read_llama(config);
  config.only("use_sliding_window", false);
  m.qk_norm = true;
  return m;
}

void add_layer(TensorList& list, const plan::Model& m, std::int64_t index) {
  const auto h = m.hidden, q = m.heads * m.head_dim, kv = m.kv_heads * m.head_dim;
  const auto a = "layers." + std::to_string(index), &b = a;
  list.norm(a + ".norm1", b + ".input_layernorm", false);
  const auto self = b + ".self_attn.";
  list.linear(a + ".attention.qkv",
              {{self + "q_proj", q}, {self + "k_proj", kv}, {self + "v_proj", kv}}, h, m.qkv_bias,
              RowOrder::qkv);
  if (m.qk_norm) {
    list.add(a + ".attention.q_norm.weight", self + "q_norm.weight", {m.head_dim});
    list.add(a + ".attention.k_norm.weight", self + "k_norm.weight", {m.head_dim});
  }
  list.linear(a + ".attention.out", {{self + "o_proj", h}}, q, false);
  list.norm(a + ".norm2", b + ".post_attention_layernorm", false);
  list.linear(a + ".mlp.up",
              {{b + ".mlp.gate_proj", m.ffn_hidden}, {b + ".mlp.up_proj", m.ffn_hidden}}, h, false,
              RowOrder::pairs);
  list.linear(a + ".mlp.down", {{b + ".mlp.down_proj", h}}, m.ffn_hidden, false);
}

std::vector<Tensor> tensors(const plan::Model& m) {
  TensorList list(m.hidden, false);
  list.add("word_embedding.weight", "embed_tokens.weight", {m.vocab, m.hidden});
  for (std::int64_t i = 0; i < m.layers; ++i) add_layer(list, m, i);
  list.norm("final_norm", "norm", false);
  if (!m.tied) list.add("head.weight", kHead, {m.vocab, m.hidden});
  return std::move(list).done();
}

}  // namespace

const Architecture kLlama{"llama",      "LlamaForCausalLM", "model.", is_plain,
                          llama_config, read_llama,         tensors};
const Architecture kMistral{"mistral",
                            "MistralForCausalLM",
                            "model.",
                            [](const plan::Model& m) { return is_plain(m) && m.rope_factor == 1; },
                            windowless_config,
                            read_mistral,
                            tensors};
const Architecture kQwen2{"qwen2",
                          "Qwen2ForCausalLM",
                          "model.",
                          [](const plan::Model& m) {
                            return is_llama(m) && m.qkv_bias && !m.qk_norm &&
                                   m.heads * m.head_dim == m.hidden;
                          },
                          qwen_config,
                          read_qwen2,
                          tensors};
const Architecture kQwen3{
    "qwen3",     "Qwen3ForCausalLM",
    "model.",    [](const plan::Model& m) { return is_llama(m) && !m.qkv_bias && m.qk_norm; },
    qwen_config, read_qwen3,
    tensors};

}  // namespace orch::huggingface
