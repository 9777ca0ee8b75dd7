#pragma once

// A transformer by its sizes, and what follows from them: parameters and floating-point operations.
// The one place of this arithmetic; header-only and without other headers of orch, because backends
// read the same sizes through the plug-in border (core/price/backend/spec.h).

#include <array>
#include <cstdint>
#include <string>
#include <variant>

namespace orch::plan {

// Families (family.h) are cases of it: each fixes some of the sizes and gives others their usual
// value. The counts are doubles: exact up to 2^53, far above any model.
struct Model {
  std::string name;
  std::string family = "gpt";

  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t vocab = 0;
  std::int64_t seq = 0;

  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t ffn_hidden = 0;
  bool rms_norm = false;
  bool swiglu = false;
  bool rope = false;
  bool alibi = false;
  bool embedding_norm = false;
  bool bias = false;
  bool qkv_bias = false;
  bool qk_norm = false;
  bool tied = false;
  double norm_epsilon = 1e-5;
  double rope_theta = 10'000;
  double rope_factor = 1;
  double rope_low = 1;
  double rope_high = 4;
  std::int64_t rope_original = 8192;

  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t shared_experts = 0;
  std::int64_t expert_hidden = 0;
  std::int64_t dense_layers = 0;
  bool router_bias = false;

  std::int64_t q_rank = 0;
  std::int64_t kv_rank = 0;
  std::int64_t rope_dim = 0;
  std::int64_t value_dim = 0;

  bool operator==(const Model&) const = default;

  bool learned_positions() const { return !rope && !alibi; }
  bool has_qkv_bias() const { return bias || qkv_bias; }
  bool latent() const { return kv_rank > 0; }
  bool mixture() const { return experts > 0; }

  // Widths of what attention and MLP compute, in elements per token.
  double q_width() const { return real(heads) * (real(head_dim) + (latent() ? real(rope_dim) : 0)); }
  double kv_width() const { return 2 * real(kv_heads) * real(head_dim); }  // keys and values
  double value_width() const { return real(heads) * real(latent() ? value_dim : head_dim); }
  double up_width(double ffn) const { return (swiglu ? 2 : 1) * ffn; }
  double norm_width() const { return (rms_norm ? 1 : 2) * real(hidden); }

  // The matrices of a layer's attention, and of an MLP so wide.
  double attention_weights() const;
  double mlp_weights(double ffn) const { return real(hidden) * (up_width(ffn) + ffn); }
  double router_weights() const { return real(hidden) * real(experts); }

  double attention_params() const;
  double mlp_params(double ffn) const;
  double dense_layer_params() const;
  double expert_layer_params(double experts_counted) const;
  // Of one layer; the mean where some have experts and some have none.
  double layer_params() const { return mean_layer(real(experts)); }
  double embedding_params() const { return real(vocab) * real(hidden); }
  double head_params() const { return tied ? 0 : embedding_params(); }
  double position_params() const { return learned_positions() ? real(seq) * real(hidden) : 0; }
  double norm_params() const { return (embedding_norm ? 2 : 1) * norm_width(); }  // outside the layers
  // What is not in the layers: embedding, head, positions, norms.
  double end_params() const {
    return embedding_params() + head_params() + position_params() + norm_params();
  }
  double params() const { return real(layers) * layer_params() + end_params(); }
  // Those that a token meets: of the experts, only its own.
  double active_params() const {
    return real(layers) * mean_layer(real(experts_per_token)) + end_params();
  }

  // Of a token in one layer, forward, attention over the whole sequence.
  double layer_flops() const;

 private:
  static double real(std::int64_t number) { return static_cast<double>(number); }
  double mean_layer(double experts_counted) const;
};

// One size: its name everywhere (Lua, run.json, the plug-in border, checkpoints), where it is, its
// limits and its meaning.
struct SizeInfo {
  const char* name;
  std::variant<bool Model::*, std::int64_t Model::*, double Model::*> at;
  double min, max;
  const char* doc;
};

// The limits are far beyond any machine of today; they stop typing errors, not ambition.
inline constexpr std::array kSizes{
    SizeInfo{"layers", &Model::layers, 1, 100'000, "transformer layers"},
    SizeInfo{"hidden", &Model::hidden, 1, 10'000'000, "width of the model"},
    SizeInfo{"heads", &Model::heads, 1, 1'000'000, "attention heads"},
    SizeInfo{"vocab", &Model::vocab, 1, 100'000'000, "tokens in the vocabulary"},
    SizeInfo{"seq", &Model::seq, 1, 100'000'000, "tokens per sample"},
    SizeInfo{"kv_heads", &Model::kv_heads, 1, 1'000'000, "heads of keys and values"},
    SizeInfo{"head_dim", &Model::head_dim, 1, 10'000'000, "width of a head"},
    SizeInfo{"ffn_hidden", &Model::ffn_hidden, 1, 100'000'000, "width inside the MLP"},
    SizeInfo{"rms_norm", &Model::rms_norm, 0, 0, "norms without mean and bias"},
    SizeInfo{"swiglu", &Model::swiglu, 0, 0, "a gated MLP"},
    SizeInfo{"rope", &Model::rope, 0, 0, "positions as rotations of queries and keys"},
    SizeInfo{"alibi", &Model::alibi, 0, 0, "positions as slopes of the scores"},
    SizeInfo{"embedding_norm", &Model::embedding_norm, 0, 0, "a norm after the embedding"},
    SizeInfo{"bias", &Model::bias, 0, 0, "a bias in every product"},
    SizeInfo{"qkv_bias", &Model::qkv_bias, 0, 0, "a bias of queries, keys and values"},
    SizeInfo{"qk_norm", &Model::qk_norm, 0, 0, "norms of each head's queries and keys"},
    SizeInfo{"tied", &Model::tied, 0, 0, "the head is the word embedding"},
    SizeInfo{"norm_epsilon", &Model::norm_epsilon, 1e-12, 1, "added under the norms' root"},
    SizeInfo{"rope_theta", &Model::rope_theta, 1, 1e12, "base of the rotations' lengths"},
    SizeInfo{"rope_factor", &Model::rope_factor, 1, 1e6, "stretches long rotations (Llama 3.1)"},
    SizeInfo{"rope_low", &Model::rope_low, 1e-3, 1e6, "turns below which they are stretched"},
    SizeInfo{"rope_high", &Model::rope_high, 1e-3, 1e6, "turns above which they are not"},
    SizeInfo{"rope_original", &Model::rope_original, 1, 100'000'000, "tokens before the stretching"},
    SizeInfo{"experts", &Model::experts, 0, 1'000'000, "experts of a layer"},
    SizeInfo{"experts_per_token", &Model::experts_per_token, 0, 1'000'000, "that a token visits"},
    SizeInfo{"shared_experts", &Model::shared_experts, 0, 1'000'000, "that every token visits"},
    SizeInfo{"expert_hidden", &Model::expert_hidden, 0, 100'000'000, "width inside an expert"},
    SizeInfo{"dense_layers", &Model::dense_layers, 0, 100'000, "first layers without experts"},
    SizeInfo{"router_bias", &Model::router_bias, 0, 0, "the router has a bias per expert"},
    SizeInfo{"q_rank", &Model::q_rank, 0, 10'000'000, "of compressed queries; 0: not compressed"},
    SizeInfo{"kv_rank", &Model::kv_rank, 0, 10'000'000, "of compressed keys and values; 0: plain ones"},
    SizeInfo{"rope_dim", &Model::rope_dim, 0, 10'000'000, "width of a head's rotated part, beside head_dim"},
    SizeInfo{"value_dim", &Model::value_dim, 0, 10'000'000, "width of a head's values"},
};

// A size as a number: true is 1.
inline double get_size(const Model& model, const SizeInfo& size) {
  return std::visit([&](auto at) { return static_cast<double>(model.*at); }, size.at);
}
inline void set_size(Model& model, const SizeInfo& size, double value) {
  if (const auto* flag = std::get_if<bool Model::*>(&size.at))
    model.**flag = value != 0;
  else if (const auto* whole = std::get_if<std::int64_t Model::*>(&size.at))
    model.**whole = static_cast<std::int64_t>(value);
  else
    model.*std::get<double Model::*>(size.at) = value;
}

// ---- the arithmetic ----

// Latent attention (DeepSeek-V2, 2024): queries, and keys with values, go through a narrow product
// first; one rotated part of the keys serves all heads.
inline double Model::attention_weights() const {
  const double h = real(hidden);
  if (!latent()) return h * (q_width() + kv_width()) + value_width() * h;
  const double q = q_rank > 0 ? real(q_rank) * (h + q_width()) : h * q_width();
  const double kv = h * (real(kv_rank) + real(rope_dim)) +
                    real(kv_rank) * real(heads) * (real(head_dim) + real(value_dim));
  return q + kv + value_width() * h;
}

inline double Model::attention_params() const {
  double extra = 0;
  if (has_qkv_bias()) extra += q_width() + kv_width();
  if (bias) extra += real(hidden);
  if (qk_norm) extra += 2 * real(head_dim);
  if (latent()) extra += real(q_rank) + real(kv_rank);  // their norms
  return attention_weights() + extra;
}

inline double Model::mlp_params(double ffn) const {
  return mlp_weights(ffn) + (bias ? up_width(ffn) + real(hidden) : 0);
}

inline double Model::dense_layer_params() const {
  return attention_params() + mlp_params(real(ffn_hidden)) + 2 * norm_width();
}

inline double Model::expert_layer_params(double experts_counted) const {
  const double router = router_weights() + (router_bias ? real(experts) : 0);
  return attention_params() + router + 2 * norm_width() +
         (experts_counted + real(shared_experts)) * mlp_params(real(expert_hidden));
}

inline double Model::mean_layer(double experts_counted) const {
  if (!mixture()) return dense_layer_params();
  if (dense_layers == 0) return expert_layer_params(experts_counted);
  const double dense = real(dense_layers), all = real(layers);
  return (dense * dense_layer_params() + (all - dense) * expert_layer_params(experts_counted)) / all;
}

inline double Model::layer_flops() const {
  const double dense = mixture() ? (layers > 0 ? real(dense_layers) / real(layers) : 0) : 1;
  const double met = real(experts_per_token) + real(shared_experts);
  const double weights =
      attention_weights() + dense * mlp_weights(real(ffn_hidden)) +
      (1 - dense) * (met * mlp_weights(real(expert_hidden)) + router_weights());
  return 2 * weights + 2 * real(seq) * (q_width() + value_width());
}

// Floating-point operations of one step, by the two published conventions.
// simple: 8 (with full recomputation) or 6 times params times tokens.
double simple_flops(double params, double tokens, bool recompute);
// megatron: 24 B s L h^2 (4 or 3) (1 + s/6h + V/16Lh), Narayanan et al. 2021; of other families the
// same sum over their own products.
double megatron_flops(const Model& model, double global_batch, bool recompute);

// Days and GPU-hours to push tokens through params at a sustained rate per GPU (simple convention).
double days_to_train(double params, double tokens, double gpus, double tflops,
                     bool recompute = true);
double gpu_hours_to_train(double params, double tokens, double tflops, bool recompute = true);

}  // namespace orch::plan
