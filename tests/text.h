#pragma once

#include <string_view>

namespace orch {

// True if a string contains a part.
inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace orch
