#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

namespace orch::zero3 {

// What lives in host memory: nothing, masters and moments, or weights and gradients too.
enum class Offload { none, optimizer, full };

inline Offload offload_of(std::string_view choice) {
  if (choice == "full") return Offload::full;
  return choice == "optimizer" ? Offload::optimizer : Offload::none;
}

// Units in backward's order (the final norm, layers from the last one, the embedding) of which the first
// so many live on the host: forward needs the others first, and the device updates them at once.
inline std::int64_t layers_on_host(double fraction, std::int64_t layers) {
  return static_cast<std::int64_t>(std::ceil(fraction * static_cast<double>(layers)));
}
inline std::int64_t units_on_host(double fraction, std::int64_t layers) {
  if (fraction <= 0) return 0;
  return fraction >= 1 ? layers + 2 : 1 + layers_on_host(fraction, layers);
}

}  // namespace orch::zero3
