#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace orch::train {

// Flat zeros in host memory of exactly that size, on large pages where the system has them, touched
// by the threads of host_pool(). Pinned: a device copies from and to it by itself (LibTorch's own
// pinned memory is rounded up to a power of two); plain memory for a CPU.
at::Tensor host_zeros(std::int64_t elements, at::ScalarType dtype);
at::Tensor pinned_zeros(std::int64_t elements, at::ScalarType dtype, at::Device device);

// Before memory is taken that is not there: the kernel would kill a rank without a message.
// ranks: of this machine, which take as much each. Throws Failed("host_memory").
void require_host_memory(double bytes, int ranks);

}  // namespace orch::train
