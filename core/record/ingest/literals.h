#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orch::ingest {

// Finds many texts in a line in one pass over it: most pairs of bytes begin none of them.
class Literals {
 public:
  // Of two bytes or more; a shorter one is found nowhere. Several may share a text.
  void add(std::string_view text, std::uint32_t id) {
    if (text.size() < 2) return;
    auto& first = first_[pair(text.data())];
    entries_.push_back({std::string(text), id, first});
    first = static_cast<std::uint16_t>(entries_.size());
  }

  // Calls hit(id, begin) for each place of each literal, in the order of the places.
  template <class Function>
  void scan(std::string_view line, Function&& hit) const {
    for (std::size_t begin = 0; begin + 1 < line.size(); ++begin)
      for (auto at = first_[pair(line.data() + begin)]; at != 0; at = entries_[at - 1].next)
        if (const auto& entry = entries_[at - 1]; line.substr(begin).starts_with(entry.text))
          hit(entry.id, begin);
  }

 private:
  struct Entry {
    std::string text;
    std::uint32_t id;
    std::uint16_t next;  // 1 + the place of another that begins with the same pair; 0: none
  };
  static std::size_t pair(const char* at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(at[0])) << 8 |
           static_cast<unsigned char>(at[1]);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint16_t> first_ = std::vector<std::uint16_t>(1 << 16);  // by pair, as next
};

}  // namespace orch::ingest
