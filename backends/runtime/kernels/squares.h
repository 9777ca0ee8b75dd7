#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

// Sums of squares in double whose bits depend on the numbers alone, neither on threads nor on the
// device. Element i of a chunk goes to lane i % kLanes; the lanes are added in pairs; then the sums
// of all chunks in the same way.
namespace orch::train::squares {

constexpr std::int64_t kChunk = 1 << 16, kLanes = 1024;

// For the host.
double of_chunk(const at::Tensor& flat);  // at most kChunk elements
double of_sums(const double* sums, std::int64_t count);

#ifdef ORCH_CUDA
at::Tensor on_device(const at::Tensor& flat);  // returns one double
#endif

}  // namespace orch::train::squares
