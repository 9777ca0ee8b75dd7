#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orch::tokenize {

// Tokens that are found in text as they are, before it is cut into words: "<|endoftext|>".
class AddedTokens {
 public:
  struct Found {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::int32_t token = 0;
  };

  void add(std::string text, std::int32_t token);
  // The leftmost, and of those the longest.
  std::optional<Found> find(std::string_view text) const;

 private:
  struct Entry {
    std::string text;
    std::int32_t token;
  };
  std::array<std::vector<Entry>, 256> by_first_;  // longest first
  std::string firsts_;
};

}  // namespace orch::tokenize
