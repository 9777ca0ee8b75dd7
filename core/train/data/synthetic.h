#pragma once

#include <cstdint>

#include "core/train/data/dataset.h"

namespace orch::data {

// Tokens with a learnable pattern: each is a fixed function of the previous one with a probability
// of 3/4, and random otherwise. A table of pairs is an optimal predictor.
class Synthetic : public Dataset {
 public:
  // key: identifies the split; other keys give other samples of the same process.
  Synthetic(std::int64_t vocab, std::uint64_t key, std::int64_t samples);

  std::int64_t size() const override { return samples_; }
  void read(std::int64_t sample, std::span<std::int32_t> to) const override;

  // The token that most often follows this one.
  std::int32_t after(std::int32_t token) const;

 private:
  std::uint64_t vocab_;
  std::uint64_t factor_;
  std::uint64_t key_;
  std::int64_t samples_;
};

}  // namespace orch::data
