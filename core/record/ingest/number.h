#pragma once

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace orch::ingest {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// Reads a number at the front and returns its end, or null if there is none. "nan", "inf" and
// "infinity", in upper or lower case, are numbers. A number outside the range of double becomes
// infinite or 0.
inline const char* read_number(const char* at, const char* end, double& value) {
  if (at < end && *at == '+' && (++at == end || *at == '-')) return nullptr;
  const auto [stop, code] = std::from_chars(at, end, value);
  if (code == std::errc::invalid_argument) return nullptr;
  if (code != std::errc()) value = std::strtod(std::string(at, stop).c_str(), nullptr);
  return stop;
}

// The factor of a unit letter behind a number, unless the letter begins a word: "4.71K", "8.03B",
// "2G". 1 if there is no such letter.
double suffix_factor(std::string_view rest);

// The seconds of "0:01:02", "2 days, 1:02:03.5" or "1h 2m 3s"; nothing if it is not a duration.
std::optional<double> seconds_of_duration(std::string_view text);

// The number in a string that contains nothing else; nothing otherwise. Quotes around it and commas
// between its digits are ignored ("7,615,616,512").
std::optional<double> to_number(std::string_view text);

}  // namespace orch::ingest
