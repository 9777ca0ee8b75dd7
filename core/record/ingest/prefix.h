#pragma once

#include <cstddef>
#include <string_view>

namespace orch::ingest {

// What launchers and loggers put before a line: the label of a rank, a date, quotation marks.
struct Prefix {
  std::string_view label;  // "3", "default7", "node12"; of the innermost one; "": none
  std::string_view stamp;  // "2024-05-01 12:00:00", with its fraction; "": none
  std::size_t begin = 0;   // where the text itself begins, its blanks included
};

Prefix read_prefix(std::string_view line);

inline constexpr std::size_t kLongestStamp = 26;  // "2024-05-01 12:00:00.123456"

// Seconds since 1970 of "2024-05-01 12:00:00,123" (or with a T) or "05/01/2024 12:00:00", taken as
// UTC; 0: not a time.
double seconds_of(std::string_view stamp);
// By how much the clock of such a stamp goes on: 1 s, or that of its last digit.
double tick_of(std::string_view stamp);

}  // namespace orch::ingest
