#include "backends/runtime/kernels/device.cuh"
#include "backends/runtime/kernels/kernels.h"

namespace orch::train::cuda {
namespace {

constexpr int kThreads = 512;

// Adds values to a sum of exponentials relative to the highest so far.
template <int N>
__device__ void add_exponentials(const float (&values)[N], float& highest, float& sum) {
  float top = highest;
#pragma unroll
  for (int i = 0; i < N; ++i) top = fmaxf(top, values[i]);
  if (top > highest) {
    sum *= __expf(highest - top);
    highest = top;
  }
  if (top == -INFINITY) return;  // padding alone
#pragma unroll
  for (int i = 0; i < N; ++i) sum += __expf(values[i] - top);
}

// A block has a row; it reads it once for the sum and, from the cache, once for the gradient.
template <class T>
__global__ void cross_entropy_kernel(T* logits, const std::int64_t* targets, int columns, int vocab,
                                     float scale, float* losses) {
  constexpr int kSize = Vector<T>::kSize;
  T* row = logits + static_cast<std::int64_t>(blockIdx.x) * columns;
  const int target = static_cast<int>(targets[blockIdx.x]);
  const float wanted = static_cast<float>(row[target]);
  float highest = -INFINITY, sum = 0;
#pragma unroll 4
  for (int at = threadIdx.x * kSize; at < columns; at += kThreads * kSize) {
    const auto vector = load_vector(row + at);
    float values[kSize];
#pragma unroll
    for (int i = 0; i < kSize; ++i)
      values[i] = at + i < vocab ? static_cast<float>(vector.values[i]) : -INFINITY;
    add_exponentials(values, highest, sum);
  }
  const float top = block_max(highest);
  sum = block_sum(make_float2(sum == 0 ? 0 : sum * __expf(highest - top), 0)).x;
  if (threadIdx.x == 0) losses[blockIdx.x] = logf(sum) + (top - wanted);
  if (scale == 0) return;
  const float factor = scale / sum;
#pragma unroll 4
  for (int at = threadIdx.x * kSize; at < columns; at += kThreads * kSize) {
    auto vector = load_vector(row + at);
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      const int column = at + i;
      const float share = __expf(static_cast<float>(vector.values[i]) - top) * factor;
      vector.values[i] =
          static_cast<T>(column >= vocab ? 0 : share - (column == target ? scale : 0));
    }
    store_vector(row + at, vector);
  }
}

}  // namespace

void cross_entropy(const at::Tensor& logits, const at::Tensor& targets, std::int64_t vocab,
                   double scale, const at::Tensor& losses) {
  ORCH_DISPATCH(logits.scalar_type(), "cross_entropy", [&] {
    cross_entropy_kernel<scalar_t>
        <<<static_cast<unsigned>(logits.size(0)), kThreads, 0, stream()>>>(
            logits.data_ptr<scalar_t>(), targets.data_ptr<std::int64_t>(),
            static_cast<int>(logits.size(1)), static_cast<int>(vocab), static_cast<float>(scale),
            losses.data_ptr<float>());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace orch::train::cuda
