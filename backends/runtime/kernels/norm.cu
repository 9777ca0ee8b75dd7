#include <algorithm>
#include <vector>

#include "backends/runtime/kernels/device.cuh"
#include "backends/runtime/kernels/kernels.h"
#include "backends/runtime/kernels/random.h"

namespace orch::train::cuda {
namespace {

// A row is held in registers: each thread has up to N vectors of it.
struct NormShape {
  int threads;
  int vectors;  // per row
  int each;     // vectors per thread: 1, 2, 4, 8 or 16
};

template <class T>
NormShape shape_of(std::int64_t columns, int most = 256) {
  const int vectors = static_cast<int>(columns) / Vector<T>::kSize;
  const int threads = std::min(most, (vectors + 31) / 32 * 32);
  int each = 1;
  while (each * threads < vectors) each *= 2;
  return {threads, vectors, each};
}

struct DropoutKey {
  float probability, keep;
  std::uint64_t key;
  std::int64_t first;
};

// In the functions below, kLayer means a layer norm; else an RMS norm, which has neither mean nor
// bias.
template <class T, int N, bool kLayer>
__global__ void add_norm_kernel(const T* x, const T* residual, const T* weight, const T* bias,
                                T* sum, T* y, float* means, float* rstds, int columns, int vectors,
                                DropoutKey drop, float epsilon) {
  constexpr int kSize = Vector<T>::kSize;
  const std::int64_t row = blockIdx.x, begin = row * columns;
  Vector<T> values[N], added[N];  // all loads are issued before the first use
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const int vector = threadIdx.x + n * blockDim.x;
    if (vector >= vectors) continue;
    values[n] = load_vector(residual + begin + vector * kSize);
    if (x) added[n] = load_vector(x + begin + vector * kSize);
  }
  float2 total = make_float2(0, 0);
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const int vector = threadIdx.x + n * blockDim.x;
    if (vector >= vectors) continue;
    const std::int64_t at = begin + vector * kSize;
    if (x) {
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        float value = static_cast<float>(added[n].values[i]);
        if (drop.probability > 0)
          value =
              uniform(drop.key, drop.first + at + i) >= drop.probability ? value * drop.keep : 0;
        values[n].values[i] = static_cast<T>(static_cast<float>(values[n].values[i]) + value);
      }
      store_vector(sum + at, values[n]);
    }
#pragma unroll
    for (int i = 0; i < kSize; ++i) total.x += static_cast<float>(values[n].values[i]);
  }
  const float mean = kLayer ? block_sum(total).x / columns : 0;
  total = make_float2(0, 0);
#pragma unroll
  for (int n = 0; n < N; ++n) {
    if (threadIdx.x + n * blockDim.x >= vectors) continue;
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      const float value = static_cast<float>(values[n].values[i]) - mean;
      total.x += value * value;
    }
  }
  const float rstd = rsqrtf(block_sum(total).x / columns + epsilon);
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const int vector = threadIdx.x + n * blockDim.x;
    if (vector >= vectors) continue;
    const auto w = load_vector(weight + vector * kSize);
    Vector<T> b = {}, out;
    if constexpr (kLayer) b = load_vector(bias + vector * kSize);
#pragma unroll
    for (int i = 0; i < kSize; ++i)
      out.values[i] = static_cast<T>((static_cast<float>(values[n].values[i]) - mean) * rstd *
                                         static_cast<float>(w.values[i]) +
                                     static_cast<float>(b.values[i]));
    store_vector(y + begin + vector * kSize, out);
  }
  if (threadIdx.x == 0) {
    if constexpr (kLayer) means[row] = mean;
    rstds[row] = rstd;
  }
}

// The mean, and one over the deviation, of a row.
template <bool kLayer>
__device__ float2 statistics_of(const float* means, const float* rstds, std::int64_t row,
                                std::int64_t rows) {
  if (row >= rows) return make_float2(0, 0);
  return make_float2(kLayer ? means[row] : 0, rstds[row]);
}

// Each block takes every gridDim-th row and sums up the parameters' gradients for it, and with
// kSums = 3 the columns of dx.
template <class T, int N, int kSums>
__global__ void norm_backward_kernel(const T* dy, const T* x, const T* weight, const float* means,
                                     const float* rstds, const T* residual, T* dx, float* parts,
                                     std::int64_t rows, int columns, int vectors) {
  constexpr int kSize = Vector<T>::kSize;
  constexpr bool kLayer = kSums > 1;
  __shared__ float2 shared[2][32];
  float dw[N][kSize] = {}, db[N][kSize] = {}, dxs[N][kSize] = {};
  Vector<T> g[N], v[N], added[N], w[N];
  const auto load = [&](std::int64_t row, Vector<T>(&gradients)[N], Vector<T>(&values)[N],
                        Vector<T>(&residuals)[N]) {
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const int vector = threadIdx.x + n * blockDim.x;
      if (vector >= vectors || row >= rows) continue;
      const std::int64_t at = row * columns + vector * kSize;
      gradients[n] = load_vector(dy + at);
      values[n] = load_vector(x + at);
      if (residual) residuals[n] = load_vector(residual + at);
    }
  };
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const int vector = threadIdx.x + n * blockDim.x;
    if (vector < vectors) w[n] = load_vector(weight + vector * kSize);
  }
  load(blockIdx.x, g, v, added);
  float2 now = statistics_of<kLayer>(means, rstds, blockIdx.x, rows);
  int turn = 0;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x, turn ^= 1) {
    Vector<T> next_g[N], next_v[N], next_added[N];  // prefetched while the present row is processed
    load(row + gridDim.x, next_g, next_v, next_added);
    const float2 next = statistics_of<kLayer>(means, rstds, row + gridDim.x, rows);
    const float mean = now.x, rstd = now.y;
    float2 sums = make_float2(0, 0);
#pragma unroll
    for (int n = 0; n < N; ++n) {
      if (threadIdx.x + n * blockDim.x >= vectors) continue;
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        const float gradient = static_cast<float>(g[n].values[i]);
        const float normed = (static_cast<float>(v[n].values[i]) - mean) * rstd;
        const float scaled = gradient * static_cast<float>(w[n].values[i]);
        dw[n][i] += gradient * normed;
        if constexpr (kLayer) db[n][i] += gradient;
        if constexpr (kLayer) sums.x += scaled;
        sums.y += scaled * normed;
      }
    }
    sums = block_sum(sums, shared[turn]);
    sums.x /= columns;
    sums.y /= columns;
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const int vector = threadIdx.x + n * blockDim.x;
      if (vector >= vectors) continue;
      Vector<T> out;
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        const float normed = (static_cast<float>(v[n].values[i]) - mean) * rstd;
        const float scaled =
            static_cast<float>(g[n].values[i]) * static_cast<float>(w[n].values[i]);
        float value = rstd * (scaled - sums.x - normed * sums.y);
        if (residual) value += static_cast<float>(added[n].values[i]);
        out.values[i] = static_cast<T>(value);
        if constexpr (kSums == 3) dxs[n][i] += static_cast<float>(out.values[i]);
      }
      store_vector(dx + row * columns + vector * kSize, out);
      g[n] = next_g[n];
      v[n] = next_v[n];
      added[n] = next_added[n];
    }
    now = next;
  }
  float* to = parts + static_cast<std::int64_t>(blockIdx.x) * kSums * columns;
  for (int n = 0; n < N; ++n) {
    const int vector = threadIdx.x + n * blockDim.x;
    if (vector >= vectors) break;
    for (int i = 0; i < kSize; ++i) {
      to[vector * kSize + i] = dw[n][i];
      if constexpr (kLayer) to[columns + vector * kSize + i] = db[n][i];
      if constexpr (kSums == 3) to[2 * columns + vector * kSize + i] = dxs[n][i];
    }
  }
}

// The same for rows that are too wide for registers: sums of columns are in shared memory, where
// each thread has its own columns, and the next row is prefetched meanwhile.
constexpr int kWideThreads = 512;

template <class T, int N, bool kLayer>
__global__ void __launch_bounds__(kWideThreads, N <= 2 ? 2 : 1)  // allows two blocks at once
    wide_norm_backward_kernel(const T* dy, const T* x, const T* weight, const float* means,
                              const float* rstds, const T* residual, T* dx, float* parts,
                              std::int64_t rows, int columns, int vectors) {
  constexpr int kSize = Vector<T>::kSize, kPlanes = kSize / 4, kSums = kLayer ? 2 : 1;
  // Interleaved in units of four numbers, so that no two threads use the same bank.
  extern __shared__ float4 shared[];
  __shared__ float2 parts_of_row[2][32];
  const auto sums_of = [&](int plane, int vector) -> float4& {
    return shared[plane * vectors + vector];
  };
  Vector<T> g[N], v[N];
  const auto load = [&](std::int64_t row, Vector<T>(&gradients)[N], Vector<T>(&values)[N]) {
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const int vector = threadIdx.x + n * kWideThreads;
      if (vector >= vectors || row >= rows) continue;
      gradients[n] = load_vector(dy + row * columns + vector * kSize);
      values[n] = load_vector(x + row * columns + vector * kSize);
    }
  };
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const int vector = threadIdx.x + n * kWideThreads;
    for (int plane = 0; plane < kSums * kPlanes && vector < vectors; ++plane)
      sums_of(plane, vector) = make_float4(0, 0, 0, 0);
  }
  load(blockIdx.x, g, v);
  float2 now = statistics_of<kLayer>(means, rstds, blockIdx.x, rows);
  int turn = 0;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x, turn ^= 1) {
    Vector<T> next_g[N], next_v[N];
    load(row + gridDim.x, next_g, next_v);
    const float2 next = statistics_of<kLayer>(means, rstds, row + gridDim.x, rows);
    const std::int64_t begin = row * columns;
    const float mean = now.x, rstd = now.y;
    float2 sums = make_float2(0, 0);
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const int vector = threadIdx.x + n * kWideThreads;
      if (vector >= vectors) continue;
      const auto w = load_vector(weight + vector * kSize);
#pragma unroll
      for (int plane = 0; plane < kPlanes; ++plane) {
        auto dw = sums_of(plane, vector), db = make_float4(0, 0, 0, 0);
        if constexpr (kLayer) db = sums_of(kPlanes + plane, vector);
        float *dws = &dw.x, *dbs = &db.x;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int i = 4 * plane + j;
          const float gradient = static_cast<float>(g[n].values[i]);
          const float normed = (static_cast<float>(v[n].values[i]) - mean) * rstd;
          const float scaled = gradient * static_cast<float>(w.values[i]);
          dws[j] += gradient * normed;
          if constexpr (kLayer) dbs[j] += gradient;
          if constexpr (kLayer) sums.x += scaled;
          sums.y += scaled * normed;
        }
        sums_of(plane, vector) = dw;
        if constexpr (kLayer) sums_of(kPlanes + plane, vector) = db;
      }
    }
    sums = block_sum(sums, parts_of_row[turn]);
    sums.x /= columns;
    sums.y /= columns;
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const int vector = threadIdx.x + n * kWideThreads;
      if (vector >= vectors) continue;
      const std::int64_t at = begin + vector * kSize;
      const auto w = load_vector(weight + vector * kSize);
      Vector<T> out, added;
      if (residual) added = load_vector(residual + at);
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        const float normed = (static_cast<float>(v[n].values[i]) - mean) * rstd;
        const float scaled = static_cast<float>(g[n].values[i]) * static_cast<float>(w.values[i]);
        float value = rstd * (scaled - sums.x - normed * sums.y);
        if (residual) value += static_cast<float>(added.values[i]);
        out.values[i] = static_cast<T>(value);
      }
      store_vector(dx + at, out);
      g[n] = next_g[n];
      v[n] = next_v[n];
    }
    now = next;
  }
  float* to = parts + static_cast<std::int64_t>(blockIdx.x) * kSums * columns;
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const int vector = threadIdx.x + n * kWideThreads;
    if (vector >= vectors) continue;
    for (int plane = 0; plane < kPlanes; ++plane) {
      *reinterpret_cast<float4*>(to + vector * kSize + 4 * plane) = sums_of(plane, vector);
      if constexpr (kLayer)
        *reinterpret_cast<float4*>(to + columns + vector * kSize + 4 * plane) =
            sums_of(kPlanes + plane, vector);
    }
  }
}

template <class Call>
void with_each(int each, NormKind kind, Call call) {
  const auto with = [&](auto count) {
    if (kind == NormKind::layer) return call(count, std::true_type());
    return call(count, std::false_type());
  };
  switch (each) {
    case 1:
      return with(std::integral_constant<int, 1>());
    case 2:
      return with(std::integral_constant<int, 2>());
    case 4:
      return with(std::integral_constant<int, 4>());
    case 8:
      return with(std::integral_constant<int, 8>());
    default:
      return with(std::integral_constant<int, 16>());
  }
}

template <class T>
T* data_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr<T>() : nullptr;
}

void check_columns(std::int64_t columns, std::int64_t element) {
  TORCH_CHECK(columns * element % 16 == 0 && columns <= 16384, "a hidden size of ", columns,
              " has no kernel: use a multiple of 8 up to 16384");
}

}  // namespace

AddedNormOutput add_norm(const at::Tensor& x, const at::Tensor& residual,
                         const NormWeights& weights, const Dropout& dropout) {
  const auto rows = residual.size(0), columns = residual.size(1);
  check_columns(columns, residual.element_size());
  const auto statistics = residual.options().dtype(at::kFloat);
  AddedNormOutput out{x.defined() ? at::empty_like(residual) : residual,
                      {at::empty_like(residual), {}, at::empty({rows}, statistics)}};
  if (weights.kind == NormKind::layer) out.norm.mean = at::empty({rows}, statistics);
  const DropoutKey drop{static_cast<float>(dropout.probability),
                        static_cast<float>(1 / (1 - dropout.probability)), dropout.key,
                        dropout.first};
  ORCH_DISPATCH(residual.scalar_type(), "add_norm", [&] {
    const auto shape = shape_of<scalar_t>(columns);
    with_each(shape.each, weights.kind, [&](auto each, auto layer) {
      add_norm_kernel<scalar_t, decltype(each)::value, decltype(layer)::value>
          <<<static_cast<unsigned>(rows), shape.threads, 0, stream()>>>(
              data_of<scalar_t>(x), residual.data_ptr<scalar_t>(),
              weights.weight.data_ptr<scalar_t>(), data_of<scalar_t>(weights.bias),
              out.sum.data_ptr<scalar_t>(), out.norm.y.data_ptr<scalar_t>(),
              data_of<float>(out.norm.mean), out.norm.rstd.data_ptr<float>(),
              static_cast<int>(columns), shape.vectors, drop, static_cast<float>(weights.epsilon));
    });
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

at::Tensor norm_backward(const at::Tensor& dy, const at::Tensor& x, const NormOutput& normed,
                         const NormWeights& weights, const at::Tensor& weight_gradient,
                         const at::Tensor& bias_gradient, const at::Tensor& residual,
                         const at::Tensor& sums_of_dx) {
  const auto rows = x.size(0), columns = x.size(1);
  check_columns(columns, x.element_size());
  const auto dx = at::empty_like(x);
  const auto& device = *at::cuda::getCurrentDeviceProperties();
  const bool is_layer = weights.kind == NormKind::layer;
  const auto shared = static_cast<std::size_t>((is_layer ? 2 : 1) * columns) * sizeof(float);
  const bool wide = columns * x.element_size() > 4096 && x.element_size() <= 4 &&
                    shared + 1024 <= device.sharedMemPerBlockOptin;
  const bool sums_up = sums_of_dx.defined() && is_layer && !wide;
  const std::int64_t sums = sums_up ? 3 : is_layer ? 2 : 1;
  at::Tensor parts;
  ORCH_DISPATCH(x.scalar_type(), "norm_backward", [&] {
    const auto launch = [&](auto kernel, int threads, std::size_t bytes, int vectors) {
      if (bytes + 1024 > 48 * 1024)  // including other shared memory
        C10_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(bytes)));
      // As many blocks as run at once: one more would begin when all others have ended.
      int at_once = 0;
      C10_CUDA_CHECK(
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, kernel, threads, bytes));
      const auto blocks = std::min<std::int64_t>(rows, device.multiProcessorCount * at_once);
      parts = at::empty({blocks, sums, columns}, x.options().dtype(at::kFloat));
      kernel<<<static_cast<unsigned>(blocks), threads, bytes, stream()>>>(
          dy.data_ptr<scalar_t>(), x.data_ptr<scalar_t>(), weights.weight.data_ptr<scalar_t>(),
          data_of<float>(normed.mean), normed.rstd.data_ptr<float>(), data_of<scalar_t>(residual),
          dx.data_ptr<scalar_t>(), parts.data_ptr<float>(), rows, static_cast<int>(columns),
          vectors);
    };
    const auto shape = shape_of<scalar_t>(columns, wide ? kWideThreads : 256);
    with_each(shape.each, weights.kind, [&](auto each, auto layer) {
      constexpr int kEach = decltype(each)::value;
      constexpr bool kLayer = decltype(layer)::value;
      const auto narrow = [&](auto kernel) { launch(kernel, shape.threads, 0, shape.vectors); };
      if (!wide && !kLayer)
        narrow(norm_backward_kernel<scalar_t, kEach, 1>);
      else if (!wide && !sums_up)
        narrow(norm_backward_kernel<scalar_t, kEach, 2>);
      else if (!wide)
        narrow(norm_backward_kernel<scalar_t, kEach, 3>);
      else if constexpr (kEach <= 8)
        launch(wide_norm_backward_kernel<scalar_t, kEach, kLayer>, kWideThreads, shared,
               shape.vectors);
    });
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  std::vector<at::Tensor> to = {weight_gradient};
  if (is_layer) to.push_back(bias_gradient);
  if (sums_up) to.push_back(sums_of_dx);
  add_rows(to, parts);
  if (sums_of_dx.defined() && !sums_up) add_bias_gradient(sums_of_dx, dx);
  return dx;
}

}  // namespace orch::train::cuda
