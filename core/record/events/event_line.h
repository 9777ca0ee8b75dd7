#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace orch::events {

// One line of events.jsonl; numbers in it are finite.
struct Event {
  std::string_view name;  // in the line
  std::optional<std::int64_t> step;
  std::optional<double> time;
  std::optional<double> loss;
  std::optional<double> step_seconds;
  std::optional<double> tokens;
  std::optional<double> tokens_per_second;
  std::optional<double> peak_memory;
  std::optional<double> gradient_norm;
  std::optional<double> learning_rate;
  std::optional<double> communicated;
  std::optional<double> bubble;
};

// Nothing if it is not a whole JSON object with an "event". Values that are no finite numbers, such
// as NaN, which JSON does not have, count as missing.
std::optional<Event> parse_event(std::string_view line);

}  // namespace orch::events
