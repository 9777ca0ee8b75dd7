#include "core/train/checkpoint/checksum.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace orch::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold little-endian numbers");

constexpr std::uint64_t k1 = Checksum::kPrime1, k2 = Checksum::kPrime2;
constexpr std::uint64_t k3 = 0x165667B19E3779F9, k4 = 0x85EBCA77C2B2AE63, k5 = 0x27D4EB2F165667C5;

template <class Word>
std::uint64_t load(const std::byte* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

std::uint64_t mix(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * k2, 31) * k1;
}

// All whole stripes of 32 bytes; returns what comes after them.
const std::byte* add_stripes(std::array<std::uint64_t, 4>& lanes, const std::byte* at,
                             std::size_t bytes) {
  auto [a, b, c, d] = lanes;  // in registers
  for (const auto* end = at + bytes / 32 * 32; at != end; at += 32) {
    a = mix(a, load<std::uint64_t>(at));
    b = mix(b, load<std::uint64_t>(at + 8));
    c = mix(c, load<std::uint64_t>(at + 16));
    d = mix(d, load<std::uint64_t>(at + 24));
  }
  lanes = {a, b, c, d};
  return at;
}

std::uint64_t merge(const std::array<std::uint64_t, 4>& lanes) {
  auto hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
              std::rotl(lanes[3], 18);
  for (const auto lane : lanes) hash = (hash ^ mix(0, lane)) * k1 + k4;
  return hash;
}

std::uint64_t add_rest(std::uint64_t hash, const std::byte* at, std::size_t bytes) {
  for (; bytes >= 8; at += 8, bytes -= 8)
    hash = std::rotl(hash ^ mix(0, load<std::uint64_t>(at)), 27) * k1 + k4;
  for (; bytes >= 4; at += 4, bytes -= 4)
    hash = std::rotl(hash ^ load<std::uint32_t>(at) * k1, 23) * k2 + k3;
  for (; bytes > 0; ++at, --bytes) hash = std::rotl(hash ^ load<std::uint8_t>(at) * k5, 11) * k1;
  return hash;
}

}  // namespace

void Checksum::add(std::span<const std::byte> data) {
  const std::size_t held = total_ % 32;
  total_ += data.size();
  if (held > 0) {
    const auto take = std::min(32 - held, data.size());
    std::copy_n(data.data(), take, rest_.data() + held);
    data = data.subspan(take);
    if (held + take < 32) return;
    add_stripes(lanes_, rest_.data(), 32);
  }
  const auto* rest = add_stripes(lanes_, data.data(), data.size());
  std::copy_n(rest, data.size() % 32, rest_.data());
}

std::uint64_t Checksum::value() const {
  auto hash = (total_ >= 32 ? merge(lanes_) : k5) + total_;
  hash = add_rest(hash, rest_.data(), total_ % 32);
  hash = (hash ^ (hash >> 33)) * k2;
  hash = (hash ^ (hash >> 29)) * k3;
  return hash ^ (hash >> 32);
}

std::uint64_t checksum(std::string_view text) {
  Checksum sum;
  sum.add(std::as_bytes(std::span(text)));
  return sum.value();
}

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
  // In one spelling only, so that a changed digit is found.
  if (code != std::errc() || stop != end || hex(value) != text) return std::nullopt;
  return value;
}

}  // namespace orch::checkpoint
