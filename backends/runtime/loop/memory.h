#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

namespace orch::train {

// On the CPU: of this process, as the kernel counts it. On CUDA: what LibTorch's allocator took
// from that device. 0 if nobody can tell.
std::int64_t peak_memory_bytes(at::Device device);
std::int64_t current_memory_bytes(at::Device device);

// "cpu", or what the driver calls it.
std::string device_name(at::Device device);

}  // namespace orch::train
