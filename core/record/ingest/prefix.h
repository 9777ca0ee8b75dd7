#pragma once

#include <cstddef>
#include <string_view>

namespace orch::ingest {

// What launchers and loggers write before a line: the label of a rank, a date, a quotation mark.
struct Prefix {
  std::string_view label;  // "3", "default7", "node12": the innermost one; "": none
  std::string_view stamp;  // "2024-05-01 12:00:00", with its fraction; "": none
  std::size_t begin = 0;   // start of the text, including its leading blanks
};

Prefix read_prefix(std::string_view line);

inline constexpr std::size_t kLongestStamp = 26;  // "2024-05-01 12:00:00.123456"

// Seconds since 1970 of "2024-05-01 12:00:00,123" (or with a T) or "05/01/2024 12:00:00", taken as
// UTC; 0 if it is not a time.
double seconds_of(std::string_view stamp);
// The resolution of such a stamp in seconds: 1, or one unit of its last digit.
double tick_of(std::string_view stamp);

}  // namespace orch::ingest
