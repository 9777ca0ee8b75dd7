#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace orch::events {

// One line of events.jsonl. A missing number is NaN, so that no comparison with it is true; all
// others are finite.
struct Event {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  std::string_view name;   // points into the line
  std::int64_t step = -1;  // -1: none
  double time = kNone;
  double loss = kNone;
  double step_seconds = kNone;
  double tokens = kNone, tokens_per_second = kNone;
  double peak_memory = kNone;
  double gradient_norm = kNone, learning_rate = kNone;
  double communicated = kNone;
  double bubble = kNone;
  double others_share = kNone, clock_mhz = kNone;
  double use = kNone, watts = kNone, gpus = kNone;  // of GPUs, and their number
  double joules = kNone;
  double rank = kNone, busy_seconds = kNone, typical_seconds = kNone, since = kNone;  // a slow one
  bool first = false;  // first step of an attempt
};

// Nothing if the line is not a complete JSON object with an "event". Values that are not finite
// numbers, such as NaN, which JSON does not have, count as missing.
std::optional<Event> parse_event(std::string_view line);

}  // namespace orch::events
