#include "backends/runtime/kernels/columns.cuh"
#include "backends/runtime/kernels/device.cuh"
#include "backends/runtime/kernels/kernels.h"
#include "backends/runtime/kernels/random.h"

namespace orch::train::cuda {
namespace {

constexpr int kThreads = 256;

// The difference is below the precision of 16-bit types.
template <class T>
__device__ float sigmoid(float x) {
  if constexpr (sizeof(T) == 2) return __fdividef(1.0f, 1.0f + __expf(-x));
  return 1.0f / (1.0f + expf(-x));
}

// GELU by its tanh formula equals x times sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)).
constexpr float kGelu = 2 * 0.7978845608028654f, kCubic = 0.044715f;

template <class T>
__device__ float gelu_share(float x) {
  return sigmoid<T>(kGelu * (x + kCubic * x * x * x));
}

template <class T>
__device__ float gelu_slope(float x) {
  const float share = gelu_share<T>(x);
  return share + x * share * (1 - share) * kGelu * (1 + 3 * kCubic * x * x);
}

// Reads rows of dy, applies GELU's backward, and writes the result.
template <class T>
struct ElementRows {
  const T* dy;
  std::int64_t columns;

  __device__ Vector<T> operator()(int row, int column) const {
    return load_vector(dy + row * columns + column);
  }
};

template <class T>
struct GeluRows {
  T* d;  // input dy, output dx
  const T* before;
  std::int64_t columns;

  __device__ Vector<T> operator()(int row, int column) const {
    const auto at = row * columns + column;
    auto gradient = load_vector(d + at);
    const auto x = load_vector(before + at);
    for (int i = 0; i < Vector<T>::kSize; ++i)
      gradient.values[i] = static_cast<T>(static_cast<float>(gradient.values[i]) *
                                          gelu_slope<T>(static_cast<float>(x.values[i])));
    store_vector(d + at, gradient);
    return gradient;
  }
};

template <class G>
struct Targets {
  G* to[3];
};

template <class G>
__global__ void add_rows_kernel(Targets<G> targets, const float* parts, int rows, int columns) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.y) * columns;
  const float* from = parts + blockIdx.y * static_cast<std::int64_t>(columns) + column;
  G* to = targets.to[blockIdx.y];
  __shared__ float shared[32][33];
  float sum = 0;
  if (column < columns) {
#pragma unroll 8
    for (int row = threadIdx.y; row < rows; row += 32) sum += from[row * stride];
  }
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int y = 1; y < 32; ++y) sum += shared[y][threadIdx.x];
  to[column] = static_cast<G>(static_cast<float>(to[column]) + sum);
}

template <class T>
__global__ void normal_kernel(T* to, std::int64_t count, float std, DropoutMask drawn) {
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

// One vector per thread; the last one may be shorter.
template <class T>
__global__ void gelu_kernel(const T* before, T* after, std::int64_t count) {
  constexpr int kSize = Vector<T>::kSize;
  const std::int64_t at =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kSize;
  const auto of = [](T value) {
    const float x = static_cast<float>(value);
    return static_cast<T>(x * gelu_share<T>(x));
  };
  if (at + kSize > count) {
    for (auto i = at; i < count; ++i) after[i] = of(before[i]);
    return;
  }
  auto vector = load_vector(before + at);
#pragma unroll
  for (int i = 0; i < kSize; ++i) vector.values[i] = of(vector.values[i]);
  store_vector(after + at, vector);
}

// Gates and factors are adjacent everywhere, so rows do not matter here. Each thread has one vector
// of SwiGLU's output; the last one may be shorter.
template <class T>
__global__ void swiglu_kernel(const T* before, T* after, std::int64_t count) {
  constexpr int kSize = Vector<T>::kSize, kHalf = kSize / 2;
  const std::int64_t at =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kSize;
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
  const std::int64_t at =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kSize;
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
unsigned blocks_of_vectors(std::int64_t count) {
  constexpr std::int64_t kEach = std::int64_t{kThreads} * Vector<T>::kSize;
  return static_cast<unsigned>((count + kEach - 1) / kEach);
}

}  // namespace

void add_rows(at::TensorList to, const at::Tensor& parts) {
  const auto rows = parts.size(0), columns = parts.size(2);
  TORCH_CHECK(to.size() == static_cast<std::size_t>(parts.size(1)) && to.size() <= 3 &&
                  parts.is_contiguous(),
              "sums of ", parts.size(1), " kinds");
  const dim3 grid(static_cast<unsigned>((columns + 31) / 32), static_cast<unsigned>(to.size()));
  ORCH_DISPATCH(to[0].scalar_type(), "add_rows", [&] {
    Targets<scalar_t> targets = {};
    for (std::size_t i = 0; i < to.size(); ++i) targets.to[i] = to[i].data_ptr<scalar_t>();
    add_rows_kernel<scalar_t><<<grid, dim3(32, 32), 0, stream()>>>(
        targets, parts.data_ptr<float>(), static_cast<int>(rows), static_cast<int>(columns));
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void add_bias_gradient(const at::Tensor& gradient, const at::Tensor& dy) {
  ORCH_DISPATCH(dy.scalar_type(), "add_bias_gradient", [&] {
    add_columns<scalar_t>(ElementRows<scalar_t>{dy.data_ptr<scalar_t>(), dy.size(1)}, dy.size(0),
                          dy.size(1), gradient);
  });
}

at::Tensor gelu_backward(const at::Tensor& dy, const at::Tensor& before,
                         const at::Tensor& bias_gradient) {
  ORCH_DISPATCH(dy.scalar_type(), "gelu_backward", [&] {
    const GeluRows<scalar_t> rows{dy.data_ptr<scalar_t>(), before.data_ptr<scalar_t>(), dy.size(1)};
    add_columns<scalar_t>(rows, dy.size(0), dy.size(1), bias_gradient);
  });
  return dy;
}

void fill_normal(const at::Tensor& to, double std, const DropoutMask& drawn) {
  const auto blocks = static_cast<unsigned>((to.numel() + kThreads - 1) / kThreads);
  ORCH_DISPATCH(to.scalar_type(), "fill_normal", [&] {
    normal_kernel<scalar_t><<<blocks, kThreads, 0, stream()>>>(to.data_ptr<scalar_t>(), to.numel(),
                                                               static_cast<float>(std), drawn);
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

at::Tensor gelu(const at::Tensor& before) {
  const auto after = at::empty_like(before);
  ORCH_DISPATCH(before.scalar_type(), "gelu", [&] {
    gelu_kernel<scalar_t><<<blocks_of_vectors<scalar_t>(after.numel()), kThreads, 0, stream()>>>(
        before.data_ptr<scalar_t>(), after.data_ptr<scalar_t>(), after.numel());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return after;
}

at::Tensor swiglu(const at::Tensor& before) {
  const auto after = at::empty({before.size(0), before.size(1) / 2}, before.options());
  ORCH_DISPATCH(before.scalar_type(), "swiglu", [&] {
    swiglu_kernel<scalar_t><<<blocks_of_vectors<scalar_t>(after.numel()), kThreads, 0, stream()>>>(
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
