#pragma once

#include <cstdint>

#include "core/train/data/dataset.h"

namespace orch::data {

// Tokens with something to learn: each is a fixed function of the one before it with a probability
// of 3/4, and any token otherwise. A table of pairs predicts it as well as can be.
class Synthetic : public Dataset {
 public:
  // key: of the split; other keys are other samples of the same process.
  Synthetic(std::int64_t vocab, std::uint64_t key, std::int64_t samples);

  std::int64_t size() const override { return samples_; }
  void read(std::int64_t sample, std::span<std::int32_t> to) const override;

  // What most often follows a token.
  std::int32_t after(std::int32_t token) const;

 private:
  std::uint64_t vocab_;
  std::uint64_t factor_;
  std::uint64_t key_;
  std::int64_t samples_;
};

}  // namespace orch::data
