#include "core/train/tokenize/byte_alphabet.h"

#include <array>

#include "core/base/utf8.h"

namespace orch::tokenize {
namespace {

constexpr bool is_seen(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

struct ByteAlphabet {
  std::array<char32_t, 256> of_byte{};
  std::array<int, 512> of_character{};  // -1: no byte

  constexpr ByteAlphabet() {
    of_character.fill(-1);
    char32_t next = 256;
    for (unsigned byte = 0; byte < 256; ++byte) {
      of_byte[byte] = is_seen(byte) ? byte : next++;
      of_character[of_byte[byte]] = static_cast<int>(byte);
    }
  }
};

constexpr ByteAlphabet kAlphabet;

}  // namespace

std::string to_byte_alphabet(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes)
    append_utf8(kAlphabet.of_byte[static_cast<unsigned char>(byte)], out);
  return out;
}

std::optional<std::string> from_byte_alphabet(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto next = first_character(text);
    if (!next || next->code >= kAlphabet.of_character.size()) return std::nullopt;
    const auto byte = kAlphabet.of_character[next->code];
    if (byte < 0) return std::nullopt;
    out += static_cast<char>(byte);
    text.remove_prefix(next->bytes);
  }
  return out;
}

}  // namespace orch::tokenize
