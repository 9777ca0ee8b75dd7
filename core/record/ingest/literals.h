#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orch::ingest {

// Finds many texts in a line in one pass over it (Aho and Corasick's automaton, with every
// transition filled in).
class Literals {
 public:
  struct Hit {
    std::uint32_t id;
    std::size_t begin;  // of the literal in the line
  };

  // Ids are those of add(), in any order; several may share a text.
  void add(std::string_view text, std::uint32_t id);
  void build();

  // Calls hit(id, begin) for each place of each literal, in the order of their ends.
  template <class Function>
  void scan(std::string_view line, Function&& hit) const {
    std::uint32_t state = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      state = next_[state + classes_[static_cast<unsigned char>(line[i])]];
      if (state < first_plain_) continue;
      for (auto at = outputs_at_[state / width_]; at != kNone; at = outputs_[at].next)
        hit(outputs_[at].id, i + 1 - outputs_[at].size);
    }
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Output {
    std::uint32_t id, size, next;
  };
  struct Entry {
    std::string text;
    std::uint32_t id;
  };

  std::vector<Entry> entries_;
  std::array<std::uint16_t, 256> classes_{};
  std::uint32_t width_ = 1;                // classes
  std::vector<std::uint32_t> next_;        // state * width + class -> the next state * width
  std::uint32_t first_plain_ = 0;          // states from here on have outputs
  std::vector<std::uint32_t> outputs_at_;  // of a state
  std::vector<Output> outputs_;
};

}  // namespace orch::ingest
