#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/train/tokenize/pair_table.h"

namespace orch::tokenize {

struct BpeModel {
  std::unordered_map<std::string, std::int32_t> vocab;  // by bytes; has all single ones
  PairTable merges;
  bool ignore_merges = false;  // a word that is a token is that token
};

// Words into tokens by byte-pair encoding: of all neighbours, those that were merged first in
// training are merged first, from the left.
class Bpe {
 public:
  explicit Bpe(BpeModel model);
  void encode(std::string_view word, std::vector<std::int32_t>& to);
  const BpeModel& model() const { return model_; }

 private:
  void merge(std::string_view word, std::vector<std::int32_t>& to);
  void merge_short(std::vector<std::int32_t>& symbols);
  void merge_long(std::vector<std::int32_t>& symbols);

  BpeModel model_;
  std::array<std::int32_t, 256> bytes_{};

  // Words come again: one cache line for each that is short, overwritten by others of its place.
  struct alignas(64) Remembered {
    std::uint8_t bytes = 0;
    std::uint8_t count = 0;
    char word[30] = {};
    std::int32_t tokens[8] = {};
  };
  std::vector<Remembered> remembered_;
  std::vector<std::int32_t> symbols_;  // kept for their memory
  std::vector<PairTable::Merge> next_;
};

}  // namespace orch::tokenize
