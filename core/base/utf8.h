#pragma once

// UTF-8 functions, header-only because a tokenizer calls them for gigabytes of text.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace orch {

struct DecodedCharacter {
  char32_t code;
  std::size_t bytes;
};

// The first character; nothing if the bytes are not valid UTF-8 (overlong, a surrogate, beyond
// U+10FFFF).
inline std::optional<DecodedCharacter> first_character(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto lead = byte(0);
  if (lead < 0x80) return DecodedCharacter{lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return std::nullopt;
  char32_t code = lead & (0x7f >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return std::nullopt;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool too_long = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  if (too_long || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return std::nullopt;
  return DecodedCharacter{code, bytes};
}

inline void append_utf8(char32_t code, std::string& to) {
  const auto add = [&](char32_t byte) { to += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f));
  }
  add(0x80 | (code & 0x3f));
}

// The number of leading bytes that are valid UTF-8.
inline std::size_t valid_prefix(std::string_view text) {
  std::size_t at = 0;
  const auto eight_are_ascii = [&](std::size_t from) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data() + from, sizeof eight);
    return (eight & 0x8080808080808080ull) == 0;
  };
  while (at < text.size()) {
    while (at + 8 <= text.size() && eight_are_ascii(at)) at += 8;
    const auto next = first_character(text.substr(at));
    if (!next) break;
    at += next->bytes;
  }
  return at;
}

// The text without the byte order mark that some programs write first.
inline std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

}  // namespace orch
