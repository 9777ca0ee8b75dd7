#pragma once

// Activations that Megatron-LM offloads to the host between forward and backward: whole layers, or
// the inputs of modules, by their names in Megatron Core (offload_modules in its
// TransformerConfig).

#include <algorithm>
#include <array>
#include <cstdint>

#include "backends/megatron/setup.h"
#include "core/price/backend/modules.h"

namespace orch::megatron {

enum InputOf : std::uint32_t {
  kInputOfNorm = 1,  // before attention
  kInputOfQkv = 2,
  kInputOfAttention = 4,  // queries, keys and values
  kInputOfOutput = 8,     // the output of attention
  kInputOfSecondNorm = 16,
  kInputOfExperts = 32,     // rows that were sent to them
  kInputOfActivation = 64,  // between the products of routed experts
};
inline constexpr std::array<backend::ModuleName, 7> kOffloaded{{{"attn_norm", kInputOfNorm},
                                                                {"qkv_linear", kInputOfQkv},
                                                                {"core_attn", kInputOfAttention},
                                                                {"attn_proj", kInputOfOutput},
                                                                {"mlp_norm", kInputOfSecondNorm},
                                                                {"expert_fc1", kInputOfExperts},
                                                                {"moe_act", kInputOfActivation}}};

// Bytes per element of [s, b, h], for 16-bit activations, of the inputs of these modules on one
// rank. What is recomputed cannot be offloaded.
inline double offloaded_bytes(const backend::Transformer& model, std::uint32_t modules) {
  const auto& sizes = model.sizes;
  const double t = model.tensor_parallel, rows = model.sequence_parallel ? t : 1;
  const auto goes = [&](InputOf which, bool again = false) {
    return (modules & which) != 0 && !again ? 1.0 : 0.0;
  };
  double bytes = 2 / rows * (goes(kInputOfNorm) + goes(kInputOfSecondNorm));
  bytes += model.product_input() / rows * goes(kInputOfQkv, model.repeats(backend::kNorms));
  bytes +=
      2 * model.qkv_widths() / t * goes(kInputOfAttention, model.repeats(backend::kUpProjections));
  bytes += 2 * model.value_widths() / t * goes(kInputOfOutput);
  if (!sizes.mixture()) return bytes;
  const auto chosen = static_cast<double>(sizes.experts_per_token);
  const double inner = chosen * static_cast<double>(sizes.expert_hidden), mixed = 1 - model.dense();
  const bool again = model.repeats(backend::kExperts);
  bytes += mixed * chosen * model.expert_cuts() / t * model.product_input() *
           goes(kInputOfExperts, again);
  bytes += mixed * 2 * sizes.up_width(inner) / (model.hidden * t) * goes(kInputOfActivation, again);
  return bytes;
}

// Offloaded bytes per layer and micro-batch.
inline double layer_away(const MegatronSetup& setup, const backend::Transformer& model) {
  if (!setup.offload_activations) return 0;
  if (setup.away_modules == 0) return backend::kept_per_layer(model);
  // core_attn offloads all that it stores, scores included.
  const bool scores = (setup.away_modules & kInputOfAttention) != 0 && !model.again();
  return offloaded_bytes(model, setup.away_modules) * model.sbh() * model.element / 2 +
         (scores ? backend::kept_scores(model) : 0);
}

// The number of layers in flight that are offloaded: those of the last one are needed at once.
inline double layers_away(const MegatronSetup& setup, double layers) {
  const double most = std::max(0.0, layers - 1);
  return setup.offload_layers > 0 ? std::min(static_cast<double>(setup.offload_layers), most)
                                  : most;
}

}  // namespace orch::megatron
