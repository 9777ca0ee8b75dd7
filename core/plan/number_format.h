#pragma once

// Number formats are data: a GPU's table of peaks names them, and a format's name ends with its
// number of bits.

#include <string_view>

#pragma GCC visibility push(hidden)

namespace orch::plan {

// The bits of "bf16", "fp8", "nvfp4"; 0: not the name of a format.
inline int bits_of(std::string_view format) {
  const auto digits = format.size() - (format.find_last_not_of("0123456789") + 1);
  if (digits == 0 || digits > 2 || digits == format.size()) return 0;
  int bits = 0;
  for (const char digit : format.substr(format.size() - digits)) bits = 10 * bits + (digit - '0');
  return bits == 32 || (bits > 1 && bits <= 16) ? bits : 0;
}

// True if only the operands of the layers' products, and what is stored for them, have so few bits;
// everything else has 16.
inline bool is_narrow(std::string_view format) {
  const int bits = bits_of(format);
  return bits > 0 && bits < 16;
}

}  // namespace orch::plan

#pragma GCC visibility pop
