#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orch::plan {

enum class Family { gpt, bloom };

std::string_view name(Family family);
std::optional<Family> parse_family(std::string_view text);

// A transformer by its sizes. The counts are doubles: exact up to 2^53, far above any model.
struct Model {
  std::string name;
  Family family = Family::gpt;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t vocab = 0;
  std::int64_t seq = 0;

  std::int64_t head_dim() const { return heads > 0 ? hidden / heads : 0; }
  double layer_params() const;      // 12h^2 + 13h
  double embedding_params() const;  // vocab * h
  double position_params() const;   // seq * h for gpt, 0 for bloom (ALiBi)
  double norm_params() const;       // outside the layers: final norm, and bloom's embedding norm
  double params() const;            // the sum, tied output embedding counted once

  bool operator==(const Model&) const = default;
};

// Floating-point operations of one step, by the two published conventions.
// simple: 8 (with full recomputation) or 6 times params times tokens.
double simple_flops(double params, double tokens, bool recompute);
// megatron: 24 B s L h^2 (4 or 3) (1 + s/6h + V/16Lh), Narayanan et al. 2021.
double megatron_flops(const Model& model, double global_batch, bool recompute);

// Days and GPU-hours to push tokens through params at a sustained rate per GPU (simple convention).
double days_to_train(double params, double tokens, double gpus, double tflops,
                     bool recompute = true);
double gpu_hours_to_train(double params, double tokens, double tflops, bool recompute = true);

}  // namespace orch::plan
