#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/counter_random.h"

namespace orch::tokenize {

// What two neighbours become, and when: a hash table with open addresses, which is asked for every
// pair of every new word.
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

  // False if the pair has one already.
  bool add(std::int32_t left, std::int32_t right, Merge merge) {
    auto& slot = slots_[place_of(key_of(left, right))];
    if (slot.merge.rank != kNever) return false;
    slot = {key_of(left, right), merge};
    return true;
  }

  // rank is kNever for a pair that stays as it is.
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

  // Where the key is, or where it would go.
  std::size_t place_of(std::uint64_t key) const {
    auto place = counter_random::mix(key) & (slots_.size() - 1);
    while (slots_[place].merge.rank != kNever && slots_[place].key != key)
      place = (place + 1) & (slots_.size() - 1);
    return place;
  }

  std::vector<Slot> slots_;
};

}  // namespace orch::tokenize
