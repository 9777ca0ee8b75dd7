#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace orch::checkpoint {

// XXH64 (xxHash's, seed 0): detects incomplete and corrupted data, not adversaries. 3.3 GB/s on the
// ARM core of our tests, whose 64-bit multiplication is slow: several times the speed of its disk.
class Checksum {
 public:
  void add(std::span<const std::byte> data) { XXH64_update(&state_, data.data(), data.size()); }
  std::uint64_t value() const { return XXH64_digest(&state_); }  // of all bytes added so far

 private:
  XXH64_state_t state_ = [] {
    XXH64_state_t fresh;
    XXH64_reset(&fresh, 0);
    return fresh;
  }();
};

inline std::uint64_t checksum(std::string_view text) { return XXH64(text.data(), text.size(), 0); }

// 16 digits.
std::string hex(std::uint64_t value);
std::optional<std::uint64_t> parse_hex(std::string_view text);

}  // namespace orch::checkpoint
