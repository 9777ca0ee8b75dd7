#pragma once

// Helper functions of all kernels.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

namespace orch::train::cuda {

// Sixteen bytes of a row: the unit of a thread's reads and writes.
template <class T>
struct alignas(16) Vector {
  static constexpr int kSize = 16 / sizeof(T);
  T values[kSize];
};

template <class T>
__device__ Vector<T> load_vector(const T* from) {
  return *reinterpret_cast<const Vector<T>*>(from);
}
template <class T>
__device__ void store_vector(T* to, const Vector<T>& vector) {
  *reinterpret_cast<Vector<T>*>(to) = vector;
}

__device__ inline float warp_sum(float x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(0xffffffffu, x, offset);
  return x;
}
__device__ inline float warp_max(float x) {
  for (int offset = 16; offset > 0; offset /= 2)
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, offset));
  return x;
}

// Sums over all threads of a block of whole warps; every thread gets both. parts: 32 in shared
// memory, different from those of the previous call, which other threads may still read.
__device__ inline float2 block_sum(float2 x, float2* parts) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = (blockDim.x + 31) / 32;
  x.x = warp_sum(x.x);
  x.y = warp_sum(x.y);
  if (lane == 0) parts[warp] = x;
  __syncthreads();
  float2 sum = lane < warps ? parts[lane] : make_float2(0, 0);
  return make_float2(warp_sum(sum.x), warp_sum(sum.y));
}
__device__ inline float2 block_sum(float2 x) {
  __shared__ float2 parts[32];
  __syncthreads();
  return block_sum(x, parts);
}
__device__ inline float block_max(float x) {
  __shared__ float parts[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = (blockDim.x + 31) / 32;
  x = warp_max(x);
  __syncthreads();
  if (lane == 0) parts[warp] = x;
  __syncthreads();
  return warp_max(lane < warps ? parts[lane] : -INFINITY);
}

inline cudaStream_t stream() { return at::cuda::getCurrentCUDAStream(); }

// to[i][c] += the sum over rows of parts [rows, sum of the widths in to]; at most three tensors.
void add_rows(at::TensorList to, const at::Tensor& parts);

}  // namespace orch::train::cuda

#define ORCH_DISPATCH(type, name, ...) \
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, type, name, __VA_ARGS__)
