#include <algorithm>

#include "backends/runtime/kernels/device.cuh"
#include "backends/runtime/kernels/kernels.h"

namespace orch::train::cuda {
namespace {

constexpr float kLog2e = 1.44269504088896341F;

__device__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Adds values to a sum of exponentials relative to the maximum so far.
template <int N>
__device__ void add_exponentials(const float (&values)[N], float& highest, float& sum) {
  float top = highest;
#pragma unroll
  for (int i = 0; i < N; ++i) top = fmaxf(top, values[i]);
  if (top == -INFINITY) return;  // padding only
  if (top > highest) {
    sum *= power_of_two((highest - top) * kLog2e);
    highest = top;
  }
  const float less = top * kLog2e;
#pragma unroll
  for (int i = 0; i < N; ++i) sum += power_of_two(fmaf(values[i], kLog2e, -less));
}

// Calls use(at, vector) for a thread's vectors of a row, which are in shared memory if they were
// kept. kAtOnce of them are loaded before the first is used.
template <int kAtOnce, class T, class Use>
__device__ void each_vector(const T* row, const T* own, int kept, int columns, const Use& use) {
  constexpr int kSize = Vector<T>::kSize;
  const int step = blockDim.x * kSize;
  for (int first = threadIdx.x * kSize; first < columns; first += kAtOnce * step) {
    Vector<T> vectors[kAtOnce];
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n)
      if (const int at = first + n * step; at < columns)
        vectors[n] = load_vector(at < kept ? own + at : row + at);
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n)
      if (const int at = first + n * step; at < columns) use(at, vectors[n]);
  }
}

// One block per row. It reads the row once for the sum, and keeps the first `kept` numbers for the
// gradient; the rest of a very wide row is read again. If two rows fit, two blocks run side by side
// with half the registers: one reads while the other writes.
template <class T, bool kInPairs>
__global__ void __launch_bounds__(1024, kInPairs ? 2 : 1)
    cross_entropy_kernel(T* logits, const std::int64_t* targets, int columns, int vocab, int kept,
                         float scale, float* losses) {
  constexpr int kSize = Vector<T>::kSize, kAtOnce = kInPairs ? 1 : 4;
  extern __shared__ uint4 shared[];
  T* row = logits + static_cast<std::int64_t>(blockIdx.x) * columns;
  T* own = reinterpret_cast<T*>(shared);
  const int target = static_cast<int>(targets[blockIdx.x]);
  const float wanted = static_cast<float>(row[target]);
  float highest = -INFINITY, sum = 0;
  each_vector<kAtOnce>(row, own, 0, columns, [&](int at, const Vector<T>& vector) {
    if (at < kept) store_vector(own + at, vector);
    float values[kSize];
#pragma unroll
    for (int i = 0; i < kSize; ++i) values[i] = static_cast<float>(vector.values[i]);
    if (at + kSize > vocab)
#pragma unroll
      for (int i = 0; i < kSize; ++i) values[i] = at + i < vocab ? values[i] : -INFINITY;
    add_exponentials(values, highest, sum);
  });
  const float top = block_max(highest);
  sum = block_sum(make_float2(sum == 0 ? 0 : sum * __expf(highest - top), 0)).x;
  if (threadIdx.x == 0) losses[blockIdx.x] = logf(sum) + (top - wanted);
  if (scale == 0) return;
  const float factor = scale / sum, less = top * kLog2e;
  each_vector<kAtOnce>(row, own, kept, columns, [&](int at, Vector<T> vector) {
    float shares[kSize];
#pragma unroll
    for (int i = 0; i < kSize; ++i)
      shares[i] = power_of_two(fmaf(static_cast<float>(vector.values[i]), kLog2e, -less)) * factor;
    if (static_cast<unsigned>(target - at) < kSize || at + kSize > vocab)
#pragma unroll
      for (int i = 0; i < kSize; ++i)
        shares[i] = at + i >= vocab ? 0 : shares[i] - (at + i == target ? scale : 0);
#pragma unroll
    for (int i = 0; i < kSize; ++i) vector.values[i] = static_cast<T>(shares[i]);
    store_vector(row + at, vector);
  });
}

}  // namespace

void cross_entropy(const at::Tensor& logits, const at::Tensor& targets, std::int64_t vocab,
                   double scale, const at::Tensor& losses) {
  const auto& device = *at::cuda::getCurrentDeviceProperties();
  const auto columns = logits.size(1), element = logits.element_size();
  const auto most = static_cast<std::int64_t>(device.sharedMemPerBlockOptin) - 1024;
  const auto kept = std::min(columns * element, most / 16 * 16);
  const bool in_pairs =
      2 * (kept + 2048) <= static_cast<std::int64_t>(device.sharedMemPerMultiprocessor) &&
      device.maxThreadsPerMultiProcessor >= 2048;
  ORCH_DISPATCH(logits.scalar_type(), "cross_entropy", [&] {
    const auto kernel =
        in_pairs ? cross_entropy_kernel<scalar_t, true> : cross_entropy_kernel<scalar_t, false>;
    C10_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(kept)));
    kernel<<<static_cast<unsigned>(logits.size(0)), 1024, static_cast<std::size_t>(kept),
             stream()>>>(logits.data_ptr<scalar_t>(), targets.data_ptr<std::int64_t>(),
                         static_cast<int>(columns), static_cast<int>(vocab),
                         static_cast<int>(kept / element), static_cast<float>(scale),
                         losses.data_ptr<float>());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace orch::train::cuda
