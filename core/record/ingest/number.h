#pragma once

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace orch::ingest {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// Reads a number at the front: where it ends, or null if there is none. nan, inf and infinity in
// any case are numbers, as Python and C print them; one beyond a double is infinite or 0.
inline const char* read_number(const char* at, const char* end, double& value) {
  if (at < end && *at == '+' && (++at == end || *at == '-')) return nullptr;
  const auto [stop, code] = std::from_chars(at, end, value);
  if (code == std::errc::invalid_argument) return nullptr;
  if (code != std::errc()) value = std::strtod(std::string(at, stop).c_str(), nullptr);
  return stop;
}

// What a letter behind a number stands for where nothing of a word follows: "4.71K", "8.03B", "2G";
// 1: it is none of these.
double suffix_factor(std::string_view rest);

// "0:01:02", "2 days, 1:02:03.5" and "1h 2m 3s" in seconds; nothing where it is no length of time.
std::optional<double> seconds_of_duration(std::string_view text);

// A text that is a number and nothing else; quotes around it and commas between its digits are left
// out ("7,615,616,512").
std::optional<double> to_number(std::string_view text);

}  // namespace orch::ingest
