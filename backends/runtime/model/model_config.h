#pragma once

#include <cstdint>

namespace orch::train {

enum class Family { gpt, bloom };

struct ModelConfig {
  Family family = Family::gpt;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t vocab = 0;
  std::int64_t seq = 0;

  std::int64_t head_dim() const { return hidden / heads; }
  // A multiple of 128, so that products over it are aligned. The rows beyond vocab are never a
  // target and get no probability.
  std::int64_t padded_vocab() const { return (vocab + 127) / 128 * 128; }
};

}  // namespace orch::train
