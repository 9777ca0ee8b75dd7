#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

namespace orch::train {

// On the CPU: of this process, as counted by the kernel. On CUDA: reserved by LibTorch's allocator
// on that device. 0 if unknown.
std::int64_t peak_memory_bytes(at::Device device);
std::int64_t current_memory_bytes(at::Device device);

// "cpu", or the driver's name.
std::string device_name(at::Device device);

// "0000:1B:00.0"; empty on the CPU. For tests: ORCH_TEST_GPU is the address there.
std::string pci_address(at::Device device);

}  // namespace orch::train
