#include "core/train/checkpoint/checksum.h"

#include <charconv>

namespace orch::checkpoint {

std::string hex(std::uint64_t value) {
  std::string out(16, '0');
  for (auto digit = out.rbegin(); digit != out.rend(); ++digit, value >>= 4)
    *digit = "0123456789abcdef"[value & 15];
  return out;
}

std::optional<std::uint64_t> parse_hex(std::string_view text) {
  std::uint64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value, 16);
  // Only the canonical spelling is accepted, so that a changed digit is detected.
  if (code != std::errc() || stop != end || hex(value) != text) return std::nullopt;
  return value;
}

}  // namespace orch::checkpoint
