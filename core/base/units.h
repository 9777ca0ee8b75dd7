#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orch {

using Bytes = double;  // exact up to 2^53; a double because estimates need fractions

inline constexpr double kGB = 1e9;
inline constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
inline constexpr double kDay = 86400.0;
inline constexpr double kJoulesPerKwh = 3.6e6;

enum class Unit { none, bytes, bytes_per_second, seconds, flops, watts };

// "80 GiB", "2.039 TB/s", "200 Gbit/s", "12 us", "6 h", "312 TFLOPs", "400 W", "0.9": the number in
// base units.
std::optional<double> parse_quantity(std::string_view text, Unit unit);

std::string format_bytes(Bytes bytes);                      // "17.2 GB"
std::string format_gib(Bytes bytes);                        // "15.9"
std::string format_seconds(double seconds);                 // "1.23 ms", "105.8 s", "3.2 days"
std::string group_digits(double number, int decimals = 0);  // "1,234,567", "-0.25"
std::string format_number(double number);  // four significant digits; large: "1.234e+20"
std::string format_tokens(double tokens);  // "300B"

// "1 run", "1,234 runs".
template <class Number>
std::string plural(Number count, std::string_view noun) {
  return group_digits(static_cast<double>(count)) + " " + std::string(noun) +
         (count == 1 ? "" : "s");
}

}  // namespace orch
