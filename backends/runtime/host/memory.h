#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace orch::train {

// A flat tensor of zeros in host memory of exactly that size, on large pages if available, first
// touched by the threads of host_pool(). Pinned, so that a device can copy directly (LibTorch's own
// pinned memory is rounded up to a power of two); plain memory for a CPU.
at::Tensor host_zeros(std::int64_t elements, at::ScalarType dtype);
at::Tensor pinned_zeros(std::int64_t elements, at::ScalarType dtype, at::Device device);

// Call this before a large allocation: without enough memory the kernel would kill the rank without
// a message. ranks: the number on this machine, each of which allocates as much. Throws
// ClassifiedFailure("host_memory").
void require_host_memory(double bytes, int ranks);

}  // namespace orch::train
