#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/counter_random.h"

namespace orch::tokenize {

// The merges of pairs: a hash table with open addressing, which is searched for every pair of every
// new word.
class PairTable {
 public:
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
  struct Merge {
    std::uint32_t rank = kNever;
    std::int32_t token = -1;
  };

  explicit PairTable(std::size_t merges = 0) {
    std::size_t slots = 16;
    while (slots < 2 * merges) slots *= 2;
    slots_.resize(slots);
  }

  // If a pair occurs twice, the first entry counts.
  void add(std::int32_t left, std::int32_t right, Merge merge) {
    auto& slot = slots_[place_of(key_of(left, right))];
    if (slot.merge.rank == kNever) slot = {key_of(left, right), merge};
  }

  // rank is kNever for a pair that is not merged.
  Merge find(std::int32_t left, std::int32_t right) const {
    return slots_[place_of(key_of(left, right))].merge;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Merge merge;
  };

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
           static_cast<std::uint32_t>(right);
  }

  // The index of the key, or of the free place for it.
  std::size_t place_of(std::uint64_t key) const {
    auto place = counter_random::mix(key) & (slots_.size() - 1);
    while (slots_[place].merge.rank != kNever && slots_[place].key != key)
      place = (place + 1) & (slots_.size() - 1);
    return place;
  }

  std::vector<Slot> slots_;
};

struct BpeModel {
  std::unordered_map<std::string, std::int32_t> vocab;  // by bytes; must contain all single bytes
  PairTable merges;
  bool ignore_merges = false;  // a word that is itself a token is not merged
};

// Encodes words by byte-pair encoding: of all neighbouring pairs, the one merged first in training
// is merged first, from the left.
class Bpe {
 public:
  explicit Bpe(BpeModel model);
  void encode(std::string_view word, std::vector<std::int32_t>& to);

 private:
  void merge(std::string_view word, std::vector<std::int32_t>& to);
  void merge_short(std::vector<std::int32_t>& symbols);
  void merge_long(std::vector<std::int32_t>& symbols);

  BpeModel model_;
  std::array<std::int32_t, 256> bytes_{};

  // A cache for repeated words: one cache line for each short word, overwritten by others with the
  // same index.
  struct alignas(64) Remembered {
    std::uint8_t bytes = 0;
    std::uint8_t count = 0;
    char word[30] = {};
    std::int32_t tokens[8] = {};
  };
  std::vector<Remembered> remembered_;
  std::vector<std::int32_t> symbols_;  // buffers, reused
  std::vector<PairTable::Merge> next_;
};

}  // namespace orch::tokenize
