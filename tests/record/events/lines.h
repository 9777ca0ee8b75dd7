#pragma once

#include <string>

namespace orch::events {

// A line of events.jsonl: {"event":"step","step":7, and the rest.
inline std::string step(int number, const std::string& rest) {
  return R"({"event":"step","step":)" + std::to_string(number) + rest + "}\n";
}

}  // namespace orch::events
