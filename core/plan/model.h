#pragma once

// A transformer by its sizes, and what follows from them: parameters and floating-point operations.
// All of this arithmetic is here; header-only and without other headers of orch, because backends
// read the same sizes through the plug-in border (core/price/backend/spec.h).

#include <array>
#include <cstdint>
#include <string>
#include <variant>

namespace orch::plan {

// The sizes of a model, in the order of documents: type, name (in Lua, run.json, checkpoints and at
// the plug-in border), value in an empty Model, limits and meaning. The limits are far beyond any
// machine of today; they stop typing errors, not ambition.
#define ORCH_SIZES(X)                                                                            \
  X(std::int64_t, layers, 0, 1, 100'000, "transformer layers")                                   \
  X(std::int64_t, hidden, 0, 1, 10'000'000, "width of the model")                                \
  X(std::int64_t, heads, 0, 1, 1'000'000, "attention heads")                                     \
  X(std::int64_t, vocab, 0, 1, 100'000'000, "tokens in the vocabulary")                          \
  X(std::int64_t, seq, 0, 1, 100'000'000, "tokens per sample")                                   \
  X(std::int64_t, kv_heads, 0, 1, 1'000'000, "heads of keys and values")                         \
  X(std::int64_t, head_dim, 0, 1, 10'000'000, "width of a head")                                 \
  X(std::int64_t, ffn_hidden, 0, 1, 100'000'000, "width inside the MLP")                         \
  X(bool, rms_norm, false, 0, 0, "norms without mean and bias")                                  \
  X(bool, swiglu, false, 0, 0, "a gated MLP")                                                    \
  X(bool, rope, false, 0, 0, "positions as rotations of queries and keys")                       \
  X(bool, alibi, false, 0, 0, "positions as slopes of the scores")                               \
  X(bool, embedding_norm, false, 0, 0, "a norm after the embedding")                             \
  X(bool, bias, false, 0, 0, "a bias in every product")                                          \
  X(bool, qkv_bias, false, 0, 0, "a bias of queries, keys and values")                           \
  X(bool, qk_norm, false, 0, 0, "norms of each head's queries and keys")                         \
  X(bool, tied, false, 0, 0, "the head is the word embedding")                                   \
  X(double, norm_epsilon, 1e-5, 1e-12, 1, "added under the norms' root")                         \
  X(double, rope_theta, 10'000, 1, 1e12, "base of the rotary embedding (theta)")                 \
  X(double, rope_factor, 1, 1, 1e6, "factor of the rotary scaling of Llama 3.1")                 \
  X(double, rope_low, 1, 1e-3, 1e6, "low_freq_factor of the rotary scaling")                     \
  X(double, rope_high, 4, 1e-3, 1e6, "high_freq_factor of the rotary scaling")                   \
  X(std::int64_t, rope_original, 8192, 1, 100'000'000,                                           \
    "sequence length before the rotary scaling")                                                 \
  X(std::int64_t, experts, 0, 0, 1'000'000, "experts of a layer")                                \
  X(std::int64_t, experts_per_token, 0, 0, 1'000'000, "experts per token")                       \
  X(std::int64_t, shared_experts, 0, 0, 1'000'000, "experts that every token visits")            \
  X(std::int64_t, expert_hidden, 0, 0, 100'000'000, "width inside an expert")                    \
  X(std::int64_t, dense_layers, 0, 0, 100'000, "first layers without experts")                   \
  X(bool, router_bias, false, 0, 0, "the router has a bias per expert")                          \
  X(std::int64_t, q_rank, 0, 0, 10'000'000, "of compressed queries; 0: not compressed")          \
  X(std::int64_t, kv_rank, 0, 0, 10'000'000, "of compressed keys and values; 0: plain ones")     \
  X(std::int64_t, rope_dim, 0, 0, 10'000'000, "width of a head's rotated part, beside head_dim") \
  X(std::int64_t, value_dim, 0, 0, 10'000'000, "width of a head's values")

// Families (family.h) are special cases: each fixes some of the sizes and gives others their usual
// value. The counts are doubles: exact up to 2^53, far above any model.
struct Model {
  std::string name;
  std::string family = "gpt";

#define ORCH_SIZE(type, name, value, ...) type name = value;
  ORCH_SIZES(ORCH_SIZE)
#undef ORCH_SIZE

  bool operator==(const Model&) const = default;

  bool learned_positions() const { return !rope && !alibi; }
  bool has_qkv_bias() const { return bias || qkv_bias; }
  bool latent() const { return kv_rank > 0; }
  bool mixture() const { return experts > 0; }

  // Widths of the projections of attention and MLP, in elements per token.
  double q_width() const {
    return real(heads) * (real(head_dim) + (latent() ? real(rope_dim) : 0));
  }
  double kv_width() const { return 2 * real(kv_heads) * real(head_dim); }  // keys and values
  double value_width() const { return real(heads) * real(latent() ? value_dim : head_dim); }
  double up_width(double ffn) const { return (swiglu ? 2 : 1) * ffn; }
  double norm_width() const { return (rms_norm ? 1 : 2) * real(hidden); }

  // Weights of a layer's attention, and of an MLP of this width.
  double attention_weights() const;
  double mlp_weights(double ffn) const { return real(hidden) * (up_width(ffn) + ffn); }
  double router_weights() const { return real(hidden) * real(experts); }

  double attention_params() const;
  double mlp_params(double ffn) const;
  double dense_layer_params() const;
  double expert_layer_params(double experts_counted) const;
  // Per layer; the mean where only some layers have experts.
  double layer_params() const { return mean_layer(real(experts)); }
  double embedding_params() const { return real(vocab) * real(hidden); }
  double head_params() const { return tied ? 0 : embedding_params(); }
  double position_params() const { return learned_positions() ? real(seq) * real(hidden) : 0; }
  double norm_params() const {
    return (embedding_norm ? 2 : 1) * norm_width();
  }  // weights outside the layers
  // Parameters outside the layers: embedding, head, positions, norms.
  double end_params() const {
    return embedding_params() + head_params() + position_params() + norm_params();
  }
  double params() const { return real(layers) * layer_params() + end_params(); }
  // Parameters that a token uses: of the experts, only those it is routed to.
  double active_params() const {
    return real(layers) * mean_layer(real(experts_per_token)) + end_params();
  }

  // Forward FLOPs of a token in one layer, with attention over the whole sequence.
  double layer_flops() const;

 private:
  static double real(std::int64_t number) { return static_cast<double>(number); }
  double mean_layer(double experts_counted) const;
};

// One size: its name everywhere (Lua, run.json, the plug-in border, checkpoints), the member that
// stores it, its limits and its meaning.
struct SizeInfo {
  const char* name;
  std::variant<bool Model::*, std::int64_t Model::*, double Model::*> at;
  double min, max;
  const char* doc;
};

inline constexpr std::array kSizes{
#define ORCH_SIZE(type, name, value, min, max, doc) SizeInfo{#name, &Model::name, min, max, doc},
    ORCH_SIZES(ORCH_SIZE)
#undef ORCH_SIZE
};

// A size as a number: true is 1.
inline double get_size(const Model& model, const SizeInfo& size) {
  return std::visit([&](auto at) { return static_cast<double>(model.*at); }, size.at);
}
inline void set_size(Model& model, const SizeInfo& size, double value) {
  if (const auto* flag = std::get_if<bool Model::*>(&size.at))
    model.** flag = value != 0;
  else if (const auto* whole = std::get_if<std::int64_t Model::*>(&size.at))
    model.** whole = static_cast<std::int64_t>(value);
  else
    model.*std::get<double Model::*>(size.at) = value;
}

// ---- the arithmetic ----

// Latent attention (DeepSeek-V2, 2024): queries, and keys with values, go through a low-rank
// projection; one rotary part of the keys serves all heads.
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
  return (dense * dense_layer_params() + (all - dense) * expert_layer_params(experts_counted)) /
         all;
}

inline double Model::layer_flops() const {
  const double dense = mixture() ? (layers > 0 ? real(dense_layers) / real(layers) : 0) : 1;
  const double met = real(experts_per_token) + real(shared_experts);
  const double weights = attention_weights() + dense * mlp_weights(real(ffn_hidden)) +
                         (1 - dense) * (met * mlp_weights(real(expert_hidden)) + router_weights());
  return 2 * weights + 2 * real(seq) * (q_width() + value_width());
}

// Floating-point operations of one step, by the two published conventions.
// simple: 8 (with full recomputation) or 6 times params times tokens.
double simple_flops(double params, double tokens, bool recompute);
// megatron: 24 B s L h^2 (4 or 3) (1 + s/6h + V/16Lh), Narayanan et al. 2021; for other families
// the same sum over their own products.
double megatron_flops(const Model& model, double global_batch, bool recompute);

// Days and GPU-hours to train on `tokens` at a sustained rate per GPU (simple convention).
double days_to_train(double params, double tokens, double gpus, double tflops,
                     bool recompute = true);
double gpu_hours_to_train(double params, double tokens, double tflops, bool recompute = true);

}  // namespace orch::plan
