#pragma once

// The modules of a layer that backward recomputes individually, for authors of backends, and the
// memory that each of them saves. Names and contents of the modules are Megatron Core's
// (recompute_modules in its TransformerConfig).

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/price/backend/experts.h"
#include "core/price/backend/share.h"

#pragma GCC visibility push(hidden)

namespace orch::backend {

struct ModuleName {
  std::string_view name;
  std::uint32_t module;
};
inline constexpr std::array<ModuleName, 6> kModules{{{"core_attn", kCoreAttention},
                                                     {"mla_up_proj", kUpProjections},
                                                     {"layernorm", kNorms},
                                                     {"mlp", kDenseMlp},
                                                     {"moe_act", kExpertActivation},
                                                     {"moe", kExperts}}};

// Parses a list such as "layernorm+mlp".
struct ModuleList {
  std::uint32_t modules = 0;
  std::string_view unknown;  // the first word that is not a module
};
inline ModuleList parse_modules(std::string_view text,
                                std::span<const ModuleName> modules = kModules) {
  ModuleList list;
  while (!text.empty()) {
    const auto end = text.find('+');
    const auto word = text.substr(0, end);
    std::uint32_t found = 0;
    for (const auto& each : modules)
      if (each.name == word) found = each.module;
    if (found == 0 && list.unknown.empty()) list.unknown = word.empty() ? "+" : word;
    list.modules |= found;
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (text.empty() && end != std::string_view::npos && list.unknown.empty()) list.unknown = "+";
  }
  return list;
}

// The recomputed widths of a layer's norms and activations on one rank, in units of h: the outputs
// of norms; queries, keys and values, which are rotated and reordered; the inputs (up) and outputs
// (inner) of activation functions. `kept` is the part of the inputs that must still be stored,
// because the product that makes it is not recomputed.
struct RepeatedWidths {
  double norms = 0, heads = 0, up = 0, inner = 0, kept = 0;
};
inline RepeatedWidths repeated_widths(const Transformer& model) {
  const auto& sizes = model.sizes;
  const double t = model.tensor_parallel, unit = model.hidden * t;
  RepeatedWidths widths;
  if (model.repeats(kNorms)) widths.norms = 2 / (model.sequence_parallel ? t : 1);
  if (model.repeats(kUpProjections)) widths.heads = model.qkv_widths() / t;
  const auto add = [&](double share, double inner) {
    widths.up += share * sizes.up_width(inner) / unit;
    widths.inner += share * inner / unit;
  };
  if (model.repeats(kDenseMlp)) add(model.dense(), static_cast<double>(sizes.ffn_hidden));
  const auto expert = static_cast<double>(sizes.expert_hidden),
             chosen = static_cast<double>(sizes.experts_per_token);
  if (model.repeats(kExperts)) {
    add(1 - model.dense(), model.visited() * expert);
  } else if (model.repeats(kExpertActivation)) {  // already counted with the shared experts
    add(1 - model.dense(), chosen * expert);
    widths.kept = (1 - model.dense()) * sizes.up_width(chosen * expert) / unit;
  }
  return widths;
}

// Bytes per element of [s, b, h] that a layer need not store, besides the scores of attention. The
// output of flash attention is stored for its own backward, and a second time where the next
// product reads a narrower number format.
inline double repeated_bytes(const Transformer& model) {
  const auto widths = repeated_widths(model);
  const double each = model.product_input(), t = model.tensor_parallel;
  double bytes =
      each * (widths.norms + widths.inner) + 2 * (widths.heads + widths.up - widths.kept);
  if (model.repeats(kExperts)) bytes += visited_bytes(model);
  if (model.repeats(kCoreAttention) && model.flash_attention && model.narrow > 0)
    bytes += 2 * model.value_widths() / t;
  return bytes;
}

}  // namespace orch::backend

#pragma GCC visibility pop
