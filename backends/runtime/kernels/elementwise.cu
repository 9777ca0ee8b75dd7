#include <algorithm>

#include "backends/runtime/kernels/device.cuh"
#include "backends/runtime/kernels/kernels.h"
#include "backends/runtime/kernels/random.h"

namespace orch::train::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRowBlocks = 64;  // parts that column sums are made of

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

template <class T>
__global__ void interleave_kernel(const T* q, const T* k, const T* v, T* to, int samples, int heads,
                                  int seq, int dim, longlong3 q_strides, longlong3 k_strides,
                                  longlong3 v_strides) {
  constexpr int kSize = Vector<T>::kSize;
  const int vectors = dim / kSize;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= static_cast<std::int64_t>(samples) * seq * heads * 3 * vectors) return;
  const std::int64_t to_at = i * kSize;
  const int d = static_cast<int>(i % vectors) * kSize;
  i /= vectors;
  const int which = static_cast<int>(i % 3);
  i /= 3;
  const std::int64_t head = i % heads, token = i / heads, sample = token / seq, place = token % seq;
  const auto strides = which == 0 ? q_strides : which == 1 ? k_strides : v_strides;
  const T* from = which == 0 ? q : which == 1 ? k : v;
  store_vector(to + to_at,
               load_vector(from + sample * strides.x + head * strides.y + place * strides.z + d));
}

template <class T>
void columns(const at::Tensor& dy, const T* before, T* dx, const at::Tensor& sums) {
  const auto rows = dy.size(0), columns = dy.size(1);
  constexpr int kSize = Vector<T>::kSize;
  TORCH_CHECK(columns % kSize == 0, "a width of ", columns, " has no kernel");
  const auto blocks = std::min<std::int64_t>(kRowBlocks, (rows + 7) / 8);
  const auto parts = at::empty({blocks, columns}, dy.options().dtype(at::kFloat));
  const dim3 grid(static_cast<unsigned>((columns / kSize + 31) / 32),
                  static_cast<unsigned>(blocks));
  columns_kernel<T><<<grid, dim3(32, 8), 0, stream()>>>(dy.data_ptr<T>(), before, dx,
                                                        parts.data_ptr<float>(), rows, columns);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  add_rows(sums, parts);
}

longlong3 strides_of(const at::Tensor& x) {
  TORCH_CHECK(x.stride(3) == 1, "heads must be contiguous");
  return make_longlong3(x.stride(0), x.stride(1), x.stride(2));
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

at::Tensor interleave(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const auto samples = q.size(0), heads = q.size(1), seq = q.size(2), dim = q.size(3);
  const auto out = at::empty({samples * seq, heads * 3 * dim}, q.options());
  ORCH_DISPATCH(q.scalar_type(), "interleave", [&] {
    TORCH_CHECK(dim % Vector<scalar_t>::kSize == 0, "heads of ", dim, " have no kernel");
    const auto vectors = out.numel() / Vector<scalar_t>::kSize;
    interleave_kernel<scalar_t>
        <<<static_cast<unsigned>((vectors + kThreads - 1) / kThreads), kThreads, 0, stream()>>>(
            q.data_ptr<scalar_t>(), k.data_ptr<scalar_t>(), v.data_ptr<scalar_t>(),
            out.data_ptr<scalar_t>(), static_cast<int>(samples), static_cast<int>(heads),
            static_cast<int>(seq), static_cast<int>(dim), strides_of(q), strides_of(k),
            strides_of(v));
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

}  // namespace orch::train::cuda
