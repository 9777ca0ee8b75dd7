#include "core/plan/family.h"
#include "core/train/huggingface/architecture.h"

namespace orch::huggingface {
namespace {

using plan::Field;

// True for biases everywhere, layer norms, GELU of four times the width and a tied head, as in
// GPT-2 and BLOOM.
bool is_old(const plan::Model& m) {
  return m.bias && m.tied && !m.rms_norm && !m.swiglu && !m.rope && !m.qk_norm &&
         m.kv_heads == m.heads && m.head_dim * m.heads == m.hidden &&
         m.ffn_hidden == 4 * m.hidden && m.norm_epsilon == 1e-5 && !m.mixture();
}

void finish(Json& json) {
  json["layer_norm_epsilon"] = 1e-5;
  json["initializer_range"] = 0.02;
  json["tie_word_embeddings"] = true;
}

// The parameter names of both, where they differ.
using AnyOf = std::initializer_list<const char*>;
plan::Model read_sizes(Config& config, const char* family, AnyOf width, AnyOf positions,
                       std::int64_t missing = 0) {
  const auto layers = config.size(Field::layers, {"n_layer", "num_hidden_layers"});
  const auto hidden = config.size(Field::hidden, width);
  const auto heads = config.size(Field::heads, {"n_head", "num_attention_heads"});
  const auto vocab = config.size(Field::vocab, {"vocab_size"});
  const auto seq = config.size(Field::seq, positions, missing);
  return plan::sized(family, "", layers, hidden, heads, vocab, seq);
}

void check_common(Config& config) {
  config.only("layer_norm_epsilon", 1e-5);
  config.only("tie_word_embeddings", true);
}

Json gpt2_config(const plan::Model& m) {
  // In GPT-2's own vocabulary, and in our byte vocabulary with one extra token, the last token ends
  // a document.
  const auto end_of_text = m.vocab - 1;
  Json json{{"vocab_size", m.vocab},
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
  finish(json);
  return json;
}

plan::Model read_gpt2(Config& config) {
  auto m = read_sizes(config, "gpt", {"n_embd", "hidden_size"},
                      {"n_positions", "max_position_embeddings"});
  const auto* activation = config.find({"activation_function"});
  if (activation && *activation != "gelu_new" && *activation != "gelu_pytorch_tanh" &&
      *activation != "gelu_fast")
    config.refuse("activation_function is " + activation->dump() +
                  ", and our models have gelu_new");
  config.only("n_inner", 4 * m.hidden);
  config.only("scale_attn_weights", true);
  config.only("scale_attn_by_inverse_layer_idx", false);
  check_common(config);
  return m;
}

Json bloom_config(const plan::Model& m) {
  const auto token = [&](std::int64_t id) { return std::min(id, m.vocab - 1); };
  Json json{{"vocab_size", m.vocab},    {"seq_length", m.seq},
            {"hidden_size", m.hidden},  {"n_layer", m.layers},
            {"n_head", m.heads},        {"apply_residual_connection_post_layernorm", false},
            {"hidden_dropout", 0.0},    {"attention_dropout", 0.0},
            {"pretraining_tp", 1},      {"slow_but_exact", false},
            {"bos_token_id", token(1)}, {"eos_token_id", token(2)},
            {"pad_token_id", token(3)}};
  finish(json);
  return json;
}

plan::Model read_bloom(Config& config) {
  auto m = read_sizes(config, "bloom", {"n_embed", "hidden_size"}, {"seq_length"}, 2048);
  config.only("apply_residual_connection_post_layernorm", false);
  check_common(config);
  return m;
}

struct Gpt2Names {
  bool gpt2;
  const char *norm1, *qkv, *out, *norm2, *up, *down;
};
constexpr Gpt2Names kGpt2Names{true,    ".ln_1",     ".attn.c_attn", ".attn.c_proj",
                               ".ln_2", ".mlp.c_fc", ".mlp.c_proj"};
constexpr Gpt2Names kBloomNames{false,
                                ".input_layernorm",
                                ".self_attention.query_key_value",
                                ".self_attention.dense",
                                ".post_attention_layernorm",
                                ".mlp.dense_h_to_4h",
                                ".mlp.dense_4h_to_h"};

void add_layer(TensorList& list, const plan::Model& m, std::int64_t index, const Gpt2Names& names) {
  const auto h = m.hidden;
  const auto a = "layers." + std::to_string(index), b = "h." + std::to_string(index);
  list.norm(a + ".norm1", b + names.norm1, true);
  list.linear(a + ".attention.qkv", {{b + names.qkv, 3 * h}}, h, true,
              names.gpt2 ? RowOrder::qkv : RowOrder::same);  // BLOOM's rows are in our order
  list.linear(a + ".attention.out", {{b + names.out, h}}, h, true);
  list.norm(a + ".norm2", b + names.norm2, true);
  list.linear(a + ".mlp.up", {{b + names.up, 4 * h}}, h, true);
  list.linear(a + ".mlp.down", {{b + names.down, h}}, 4 * h, true);
}

std::vector<Tensor> gpt2_tensors(const plan::Model& m) {
  TensorList list(m.hidden, true);
  list.add("word_embedding.weight", "wte.weight", {m.vocab, m.hidden});
  list.add("position_embedding.weight", "wpe.weight", {m.seq, m.hidden});
  for (std::int64_t i = 0; i < m.layers; ++i) add_layer(list, m, i, kGpt2Names);
  list.norm("final_norm", "ln_f", true);
  return std::move(list).done();
}

std::vector<Tensor> bloom_tensors(const plan::Model& m) {
  TensorList list(m.hidden, false);
  list.add("word_embedding.weight", "word_embeddings.weight", {m.vocab, m.hidden});
  list.norm("embedding_norm", "word_embeddings_layernorm", true);
  for (std::int64_t i = 0; i < m.layers; ++i) add_layer(list, m, i, kBloomNames);
  list.norm("final_norm", "ln_f", true);
  return std::move(list).done();
}

}  // namespace

const Architecture kGpt2{
    "gpt2",         "GPT2LMHeadModel",
    "transformer.", [](const plan::Model& m) { return is_old(m) && !m.alibi && !m.embedding_norm; },
    gpt2_config,    read_gpt2,
    gpt2_tensors};
const Architecture kBloom{
    "bloom",        "BloomForCausalLM",
    "transformer.", [](const plan::Model& m) { return is_old(m) && m.alibi && m.embedding_norm; },
    bloom_config,   read_bloom,
    bloom_tensors};

}  // namespace orch::huggingface
