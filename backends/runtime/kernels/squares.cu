#include "backends/runtime/kernels/device.cuh"
#include "backends/runtime/kernels/squares.h"

namespace orch::train::squares {
namespace {

constexpr int kThreads = 256, kPerThread = kLanes / kThreads;

template <class T>
__device__ double square_of(T x) {
  const double wide = static_cast<float>(x);
  return wide * wide;
}
template <>
__device__ double square_of(double sum) {
  return sum;
}

// One block per chunk, some of its lanes per thread.
template <class T>
__global__ void in_lanes(const T* from, std::int64_t count, std::int64_t chunk, double* sums) {
  __shared__ double lanes[kLanes];
  const std::int64_t first = chunk * blockIdx.x;
  const std::int64_t end = min(count, first + chunk);
  double mine[kPerThread] = {};
  for (std::int64_t row = first; row < end; row += kLanes)
    for (int k = 0; k < kPerThread; ++k) {
      const std::int64_t i = row + k * kThreads + threadIdx.x;
      if (i < end) mine[k] += square_of(from[i]);
    }
  for (int k = 0; k < kPerThread; ++k) lanes[k * kThreads + threadIdx.x] = mine[k];
  for (int half = kLanes / 2; half > 0; half /= 2) {
    __syncthreads();
    for (int lane = threadIdx.x; lane < half; lane += kThreads) lanes[lane] += lanes[lane + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = lanes[0];
}

}  // namespace

at::Tensor on_device(const at::Tensor& flat) {
  const auto count = flat.numel(),
             chunks = std::max<std::int64_t>(1, (count + kChunk - 1) / kChunk);
  const auto sums = at::empty({chunks}, flat.options().dtype(at::kDouble));
  const auto sum = at::empty({}, sums.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, flat.scalar_type(), "squares", [&] {
    in_lanes<<<static_cast<unsigned>(chunks), kThreads, 0, cuda::stream()>>>(
        flat.data_ptr<scalar_t>(), count, kChunk, sums.data_ptr<double>());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  in_lanes<<<1, kThreads, 0, cuda::stream()>>>(sums.data_ptr<double>(), chunks, chunks,
                                               sum.data_ptr<double>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return sum;
}

}  // namespace orch::train::squares
