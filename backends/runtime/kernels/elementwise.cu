#include <algorithm>

#include "backends/runtime/kernels/device.cuh"
#include "backends/runtime/kernels/kernels.h"
#include "backends/runtime/kernels/random.h"

namespace orch::train::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kBlocks = 132 * 8;  // that make a GPU busy; of sums of columns

__device__ float gelu_slope(float x) {
  constexpr float kA = 0.7978845608028654f, kB = 0.044715f;  // sqrt(2/pi), of the tanh formula
  const float t = tanhf(kA * (x + kB * x * x * x));
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * kA * (1 + 3 * kB * x * x);
}

// A thread has one vector of columns and every gridDim.y * blockDim.y-th row. Sums of columns come
// out per block, in a fixed order. before: what GELU was given, or null for plain sums.
template <class T>
__global__ void columns_kernel(const T* dy, const T* before, T* dx, float* parts, std::int64_t rows,
                               std::int64_t columns) {
  constexpr int kSize = Vector<T>::kSize;
  const std::int64_t column = (blockIdx.x * blockDim.x + threadIdx.x) * kSize;
  float sums[kSize] = {};
  if (column < columns) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * blockDim.y;
#pragma unroll 4
    for (std::int64_t row = blockIdx.y * blockDim.y + threadIdx.y; row < rows; row += step) {
      auto gradient = load_vector(dy + row * columns + column);
      if (before) {
        const auto x = load_vector(before + row * columns + column);
        for (int i = 0; i < kSize; ++i)
          gradient.values[i] = static_cast<T>(static_cast<float>(gradient.values[i]) *
                                              gelu_slope(static_cast<float>(x.values[i])));
        store_vector(dx + row * columns + column, gradient);
      }
      for (int i = 0; i < kSize; ++i) sums[i] += static_cast<float>(gradient.values[i]);
    }
  }
  __shared__ float shared[8][32 * kSize];
  for (int i = 0; i < kSize; ++i) shared[threadIdx.y][threadIdx.x * kSize + i] = sums[i];
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int i = 0; i < kSize; ++i) {
    float sum = 0;
    for (int y = 0; y < 8; ++y) sum += shared[y][threadIdx.x * kSize + i];
    parts[blockIdx.y * columns + column + i] = sum;
  }
}

template <class G>
__global__ void add_rows_kernel(G* to, const float* parts, std::int64_t rows, std::int64_t columns,
                                std::int64_t stride) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  __shared__ float shared[8][33];
  float sum = 0;
  if (column < columns)
    for (std::int64_t row = threadIdx.y; row < rows; row += 8) sum += parts[row * stride + column];
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int y = 1; y < 8; ++y) sum += shared[y][threadIdx.x];
  to[column] = static_cast<G>(static_cast<float>(to[column]) + sum);
}

template <class T>
__global__ void normal_kernel(T* to, std::int64_t count, float std, Drawn drawn) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) to[i] = static_cast<T>(std * normal(drawn.key, place_of(drawn, i)));
}

template <class T>
__global__ void dropout_kernel(const T* from, T* to, std::int64_t count, float probability,
                               float keep, std::uint64_t key, std::int64_t first) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const bool kept = uniform(key, static_cast<std::uint64_t>(first + i)) >= probability;
  to[i] = kept ? static_cast<T>(static_cast<float>(from[i]) * keep) : static_cast<T>(0.0f);
}

// 16-bit types do not see the difference.
template <class T>
__device__ float sigmoid(float x) {
  if constexpr (sizeof(T) == 2) return __fdividef(1.0f, 1.0f + __expf(-x));
  return 1.0f / (1.0f + expf(-x));
}

// Gate and factor are neighbours wherever they are: rows do not matter here. A thread has one vector
// of what SwiGLU gives; the last of them may be shorter.
template <class T>
__global__ void swiglu_kernel(const T* before, T* after, std::int64_t count) {
  constexpr int kSize = Vector<T>::kSize, kHalf = kSize / 2;
  const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kSize;
  const auto of = [](T gate, T factor) {
    const float g = static_cast<float>(gate);
    return static_cast<T>(g * sigmoid<T>(g) * static_cast<float>(factor));
  };
  if (at + kSize > count) {
    for (auto i = at; i < count; ++i) after[i] = of(before[2 * i], before[2 * i + 1]);
    return;
  }
  const Vector<T> pairs[2] = {load_vector(before + 2 * at), load_vector(before + 2 * at + kSize)};
  Vector<T> out;
#pragma unroll
  for (int i = 0; i < kSize; ++i) {
    const auto& from = pairs[i / kHalf];
    out.values[i] = of(from.values[2 * (i % kHalf)], from.values[2 * (i % kHalf) + 1]);
  }
  store_vector(after + at, out);
}

template <class T>
__global__ void swiglu_backward_kernel(const T* dy, const T* before, T* dx, std::int64_t count) {
  constexpr int kSize = Vector<T>::kSize, kHalf = kSize / 2;
  const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kSize;
  const auto of = [](T gradient, T gate, T factor, T& to_gate, T& to_factor) {
    const float d = static_cast<float>(gradient), g = static_cast<float>(gate);
    const float share = sigmoid<T>(g), silu = g * share;
    to_gate = static_cast<T>(d * static_cast<float>(factor) * share * (1 + g - silu));
    to_factor = static_cast<T>(d * silu);
  };
  if (at + kSize > count) {
    for (auto i = at; i < count; ++i)
      of(dy[i], before[2 * i], before[2 * i + 1], dx[2 * i], dx[2 * i + 1]);
    return;
  }
  const auto d = load_vector(dy + at);
  const Vector<T> pairs[2] = {load_vector(before + 2 * at), load_vector(before + 2 * at + kSize)};
  Vector<T> out[2];
#pragma unroll
  for (int i = 0; i < kSize; ++i) {
    const auto& from = pairs[i / kHalf];
    auto& to = out[i / kHalf];
    const int j = 2 * (i % kHalf);
    of(d.values[i], from.values[j], from.values[j + 1], to.values[j], to.values[j + 1]);
  }
  store_vector(dx + 2 * at, out[0]);
  store_vector(dx + 2 * at + kSize, out[1]);
}

template <class T>
void columns(const at::Tensor& dy, const T* before, T* dx, const at::Tensor& sums) {
  const auto rows = dy.size(0), columns = dy.size(1);
  constexpr int kSize = Vector<T>::kSize;
  TORCH_CHECK(columns % kSize == 0, "a width of ", columns, " has no kernel");
  const auto across = (columns / kSize + 31) / 32;
  const auto blocks = std::min(std::max<std::int64_t>(kBlocks / across, 64), (rows + 7) / 8);
  const auto parts = at::empty({blocks, columns}, dy.options().dtype(at::kFloat));
  const dim3 grid(static_cast<unsigned>(across), static_cast<unsigned>(blocks));
  columns_kernel<T><<<grid, dim3(32, 8), 0, stream()>>>(
      dy.data_ptr<T>(), before, dx, parts.template data_ptr<float>(), rows, columns);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  if (sums.defined()) add_rows(sums, parts);
}

template <class T>
unsigned blocks_of_vectors(std::int64_t count) {
  constexpr std::int64_t kEach = std::int64_t{kThreads} * Vector<T>::kSize;
  return static_cast<unsigned>((count + kEach - 1) / kEach);
}

}  // namespace

void add_rows(const at::Tensor& to, const at::Tensor& parts) {
  const auto rows = parts.size(0), columns = parts.size(1);
  const dim3 grid(static_cast<unsigned>((columns + 31) / 32));
  ORCH_DISPATCH(to.scalar_type(), "add_rows", [&] {
    add_rows_kernel<scalar_t><<<grid, dim3(32, 8), 0, stream()>>>(
        to.data_ptr<scalar_t>(), parts.data_ptr<float>(), rows, columns, parts.stride(0));
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void add_bias_gradient(const at::Tensor& gradient, const at::Tensor& dy) {
  ORCH_DISPATCH(dy.scalar_type(), "add_bias_gradient",
                [&] { columns<scalar_t>(dy, nullptr, nullptr, gradient); });
}

at::Tensor gelu_backward(const at::Tensor& dy, const at::Tensor& before,
                         const at::Tensor& bias_gradient) {
  const auto dx = at::empty_like(dy);
  ORCH_DISPATCH(dy.scalar_type(), "gelu_backward", [&] {
    columns<scalar_t>(dy, before.data_ptr<scalar_t>(), dx.data_ptr<scalar_t>(), bias_gradient);
  });
  return dx;
}

void fill_normal(const at::Tensor& to, double std, const Drawn& drawn) {
  const auto blocks = static_cast<unsigned>((to.numel() + kThreads - 1) / kThreads);
  ORCH_DISPATCH(to.scalar_type(), "fill_normal", [&] {
    normal_kernel<scalar_t><<<blocks, kThreads, 0, stream()>>>(
        to.data_ptr<scalar_t>(), to.numel(), static_cast<float>(std), drawn);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void dropout(const at::Tensor& from, const at::Tensor& to, const Dropout& dropped) {
  const auto blocks = static_cast<unsigned>((from.numel() + kThreads - 1) / kThreads);
  ORCH_DISPATCH(from.scalar_type(), "dropout", [&] {
    dropout_kernel<scalar_t><<<blocks, kThreads, 0, stream()>>>(
        from.data_ptr<scalar_t>(), to.data_ptr<scalar_t>(), from.numel(),
        static_cast<float>(dropped.probability), static_cast<float>(1 / (1 - dropped.probability)),
        dropped.key, dropped.first);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

at::Tensor swiglu(const at::Tensor& before) {
  const auto after = at::empty({before.size(0), before.size(1) / 2}, before.options());
  ORCH_DISPATCH(before.scalar_type(), "swiglu", [&] {
    swiglu_kernel<scalar_t>
        <<<blocks_of_vectors<scalar_t>(after.numel()), kThreads, 0, stream()>>>(
            before.data_ptr<scalar_t>(), after.data_ptr<scalar_t>(), after.numel());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return after;
}

at::Tensor swiglu_backward(const at::Tensor& dy, const at::Tensor& before) {
  const auto dx = at::empty_like(before);
  ORCH_DISPATCH(before.scalar_type(), "swiglu_backward", [&] {
    swiglu_backward_kernel<scalar_t>
        <<<blocks_of_vectors<scalar_t>(dy.numel()), kThreads, 0, stream()>>>(
            dy.data_ptr<scalar_t>(), before.data_ptr<scalar_t>(), dx.data_ptr<scalar_t>(),
            dy.numel());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return dx;
}

}  // namespace orch::train::cuda
