#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace orch::ingest {

namespace number_detail {

inline constexpr std::array<double, 23> kTens = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// nan, inf and infinity in any case, as Python and C print them.
inline const char* read_word(const char* at, const char* end, bool negative, double& value) {
  const auto is = [&](std::string_view word) {
    if (static_cast<std::size_t>(end - at) < word.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i)
      if ((at[i] | 0x20) != word[i]) return false;
    return true;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  if (is("nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
    return at + 3;
  }
  if (!is("inf")) return nullptr;
  value = negative ? -infinity : infinity;
  return at + (is("infinity") ? 8 : 3);
}

}  // namespace number_detail

// Reads a number at the front: where it ends, or null if there is none. With up to 15 digits and a
// power of ten up to 22 the product is exact to the last bit; others go the long way.
inline const char* read_number(const char* at, const char* end, double& value) {
  using namespace number_detail;
  const char* const begin = at;
  const bool negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+')) ++at;
  const char* const digits = at;
  std::uint64_t mantissa = 0;
  while (at < end && is_digit(*at)) mantissa = mantissa * 10 + static_cast<unsigned>(*at++ - '0');
  auto count = at - digits;
  long power = 0;
  if (at < end && *at == '.') {
    const char* const fraction = ++at;
    while (at < end && is_digit(*at)) mantissa = mantissa * 10 + static_cast<unsigned>(*at++ - '0');
    power = fraction - at;
    count += at - fraction;
  }
  if (count == 0) return digits < end ? read_word(digits, end, negative, value) : nullptr;
  if (at < end && (*at | 0x20) == 'e') {
    const char* mark = at + 1;
    const bool minus = mark < end && *mark == '-';
    if (mark < end && (*mark == '-' || *mark == '+')) ++mark;
    if (mark < end && is_digit(*mark)) {
      long exponent = 0;
      while (mark < end && is_digit(*mark))
        exponent = exponent < 10000 ? exponent * 10 + (*mark++ - '0') : (++mark, exponent);
      power += minus ? -exponent : exponent;
      at = mark;
    }
  }
  if (count > 15 || power < -22 || power > 22) {
    const auto* from = *begin == '+' ? begin + 1 : begin;
    const auto [stop, code] = std::from_chars(from, at, value);
    if (code == std::errc::result_out_of_range)
      value = power < 0 ? 0.0 : (negative ? -HUGE_VAL : HUGE_VAL);
    return at;
  }
  const auto whole = static_cast<double>(mantissa);
  const auto at_power = static_cast<std::size_t>(power < 0 ? -power : power);
  value = power < 0 ? whole / kTens[at_power] : whole * kTens[at_power];
  if (negative) value = -value;
  return at;
}

// What a letter behind a number stands for where nothing of a word follows: "4.71K", "8.03B", "2G";
// 1: it is none of these.
inline double suffix_factor(std::string_view rest) {
  if (rest.empty()) return 1;
  if (rest.size() > 1 && rest[1] != ' ' && rest[1] != '|' && rest[1] != ',') return 1;
  switch (rest.front()) {
    case 'K':
      return 1e3;
    case 'M':
      return 1e6;
    case 'G':
    case 'B':
      return 1e9;
    case 'T':
      return 1e12;
    default:
      return 1;
  }
}

// A text that is a number and nothing else; quotes around it and commas between its digits are left
// out ("7,615,616,512").
std::optional<double> to_number(std::string_view text);

}  // namespace orch::ingest
