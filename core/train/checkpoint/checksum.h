#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace orch::checkpoint {

// XXH64 (Yann Collet's, seed 0): finds torn and flipped bytes, not adversaries. 3.3 GB/s on the ARM
// core of our tests, whose 64-bit product is slow; several times what its disk takes.
class Checksum {
 public:
  void add(std::span<const std::byte> data);
  std::uint64_t value() const;  // of everything added so far

  static constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F;

 private:
  std::array<std::uint64_t, 4> lanes_{kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
  std::array<std::byte, 32> rest_{};  // what does not fill a stripe yet
  std::uint64_t total_ = 0;
};

std::uint64_t checksum(std::string_view text);

// 16 digits.
std::string hex(std::uint64_t value);
std::optional<std::uint64_t> parse_hex(std::string_view text);

}  // namespace orch::checkpoint
