#pragma once

#include <ATen/core/Tensor.h>

namespace orch::measure {

// Waits for the device's queued work; on the CPU there is none.
void synchronize(at::Device device);

// The memory of this process in bytes: on the CPU its resident memory, on a GPU all used memory (no
// other process should use it).
double bytes_taken(at::Device device);
double bytes_in_all(at::Device device);

}  // namespace orch::measure
