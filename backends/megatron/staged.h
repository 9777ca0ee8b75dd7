#pragma once

#include <cstdint>

namespace orch::megatron {

// Elements that come from the device at a time, or go there; three such slices each way.
constexpr std::int64_t kStaged = 4'194'304;

}  // namespace orch::megatron
