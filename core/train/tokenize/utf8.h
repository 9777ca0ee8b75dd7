#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orch::tokenize {

struct Decoded {
  char32_t code;
  std::size_t bytes;
};

// The character at the beginning; none if it is no UTF-8 (too long, a surrogate, beyond U+10FFFF).
std::optional<Decoded> first_character(std::string_view text);

void append_utf8(char32_t code, std::string& to);

// How many bytes from the beginning are UTF-8.
std::size_t valid_prefix(std::string_view text);

}  // namespace orch::tokenize
