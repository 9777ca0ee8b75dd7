#pragma once

#include <ATen/core/Tensor.h>

namespace orch::measure {

// Waits for what the device was told to do; on the CPU nothing is ever left to wait for.
void synchronize(at::Device device);

// Bytes that this process takes: on the CPU its resident memory, on a GPU all that is taken of it
// (nobody else should be there).
double bytes_taken(at::Device device);
double bytes_in_all(at::Device device);

}  // namespace orch::measure
