#include <algorithm>

#include "backends/runtime/kernels/columns.cuh"
#include "backends/runtime/kernels/device.cuh"
#include "backends/runtime/kernels/kernels.h"

// One pass between the QKV product and attention, in each direction: a token's heads are
// normalised, rotated and reordered, and their gradients are transformed back. One block per token.
// A thread has two vectors of a head, elements i… and i + dim / 2…, which are rotated with each
// other: threadIdx.x selects i, threadIdx.y the heads. Angles are read once for all heads.
namespace orch::train::cuda {
namespace {

constexpr int kThreads = 256;

struct HeadLayout {
  int seq, heads, kv_heads, dim;
  __host__ __device__ int units() const { return heads + 2 * kv_heads; }
};

enum HeadKind { kQuery, kKey, kValue };

// The head at a place of the product's output.
struct HeadUnit {
  int kind, head;
};
__device__ HeadUnit unit_at(int place, const HeadLayout& layout) {
  const int group = layout.heads / layout.kv_heads, of = place / (group + 2),
            i = place % (group + 2);
  return i < group ? HeadUnit{kQuery, of * group + i} : HeadUnit{kKey + i - group, of};
}

template <class T>
struct VectorPair {
  static constexpr int kSize = Vector<T>::kSize;
  float a[kSize] = {}, b[kSize] = {};

  __device__ void load(const T* from, int half) {
    const auto first = load_vector(from), second = load_vector(from + half);
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      a[i] = static_cast<float>(first.values[i]);
      b[i] = static_cast<float>(second.values[i]);
    }
  }
  __device__ void store(T* to, int half) const {
    Vector<T> first, second;
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      first.values[i] = static_cast<T>(a[i]);
      second.values[i] = static_cast<T>(b[i]);
    }
    store_vector(to, first);
    store_vector(to + half, second);
  }
  __device__ float squares() const {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kSize; ++i) sum += a[i] * a[i] + b[i] * b[i];
    return sum;
  }
};

// The rotation of one position; without a table there is none.
template <class T>
struct Angles {
  static constexpr int kSize = Vector<T>::kSize;
  float cos[kSize], sin[kSize];

  __device__ Angles(const float* all_cos, const float* all_sin, std::int64_t at) {
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      cos[i] = 1;
      sin[i] = 0;
    }
    if (!all_cos) return;
    load(all_cos + at, cos);
    load(all_sin + at, sin);
  }
  __device__ static void load(const float* from, float (&to)[kSize]) {
    constexpr int kEach = kSize < 4 ? kSize : 4;  // elements at a time
    struct alignas(kEach * sizeof(float)) Some {
      float values[kEach];
    };
#pragma unroll
    for (int i = 0; i < kSize; i += kEach) {
      const auto some = *reinterpret_cast<const Some*>(from + i);
#pragma unroll
      for (int j = 0; j < kEach; ++j) to[i + j] = some.values[j];
    }
  }
  // way: 1 rotates, -1 rotates back.
  __device__ void rotate(VectorPair<T>& pair, float way) const {
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      const float a = pair.a[i], b = pair.b[i], turn = way * sin[i];
      pair.a[i] = a * cos[i] - b * turn;
      pair.b[i] = b * cos[i] + a * turn;
    }
  }
};

// Sums over the threads of one head: a power of two, adjacent in a warp.
__device__ float head_sum(float x) {
  for (int offset = blockDim.x / 2; offset > 0; offset /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, offset);
  return x;
}

template <class T, bool kNorm>
__global__ void __launch_bounds__(kThreads)
    rotate_kernel(const T* __restrict__ qkv, T* __restrict__ to, const float* __restrict__ cos,
                  const float* __restrict__ sin, const T* __restrict__ q_weight,
                  const T* __restrict__ k_weight, HeadLayout layout, float epsilon) {
  constexpr int kSize = Vector<T>::kSize;
  const int half = layout.dim / 2, column = threadIdx.x * kSize, units = layout.units();
  const std::int64_t row = blockIdx.x;
  const Angles<T> angles(cos, sin, row % layout.seq * half + column);
  // All threads must run the same number of iterations: whole warps compute the sums over heads.
#pragma unroll 2
  for (int base = 0; base < units; base += blockDim.y) {
    const int place = base + threadIdx.y;
    const bool is_there = place < units;
    const auto [kind, head] = unit_at(is_there ? place : 0, layout);
    VectorPair<T> x;
    if (is_there) x.load(qkv + (row * units + place) * layout.dim + column, half);
    if constexpr (kNorm) {
      const float rstd = rsqrtf(head_sum(x.squares()) / layout.dim + epsilon);
      if (kind != kValue) {
        VectorPair<T> weight;
        weight.load((kind == kQuery ? q_weight : k_weight) + column, half);
#pragma unroll
        for (int i = 0; i < kSize; ++i) {
          x.a[i] *= rstd * weight.a[i];
          x.b[i] *= rstd * weight.b[i];
        }
      }
    }
    if (!is_there) continue;
    if (kind != kValue) angles.rotate(x, 1);
    const int first = kind == kQuery ? 0 : layout.heads + (kind == kKey ? 0 : layout.kv_heads);
    x.store(to + (row * units + first + head) * layout.dim + column, half);
  }
}

// A pointer to q, k or v, with strides.
template <class T>
struct Gradient {
  const T* data;
  std::int64_t of_sample, of_head, of_place;
};

template <class T>
struct Gradients3 {
  Gradient<T> q, k, v;
};

// With norms a block takes every gridDim-th token, and sums up the gradients of their weights for
// it.
template <class T, bool kNorm>
__global__ void __launch_bounds__(kThreads)
    rotate_backward_kernel(Gradients3<T> gradients, const T* __restrict__ qkv, T* __restrict__ to,
                           const float* __restrict__ cos, const float* __restrict__ sin,
                           const T* __restrict__ q_weight, const T* __restrict__ k_weight,
                           float* __restrict__ parts, std::int64_t rows, HeadLayout layout,
                           float epsilon) {
  constexpr int kSize = Vector<T>::kSize;
  const int half = layout.dim / 2, column = threadIdx.x * kSize, units = layout.units();
  VectorPair<T> dq_weight, dk_weight;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::int64_t sample = row / layout.seq, position = row % layout.seq;
    const Angles<T> angles(cos, sin, position * half + column);
#pragma unroll 2
    for (int base = 0; base < units; base += blockDim.y) {
      const int place = base + threadIdx.y;
      const bool is_there = place < units;
      const auto [kind, head] = unit_at(is_there ? place : 0, layout);
      const Gradient<T> from = kind == kQuery ? gradients.q
                               : kind == kKey ? gradients.k
                                              : gradients.v;
      const std::int64_t at = (row * units + place) * layout.dim + column;
      VectorPair<T> d;
      if (is_there)
        d.load(from.data + sample * from.of_sample + head * from.of_head +
                   position * from.of_place + column,
               half);
      if (kind != kValue) angles.rotate(d, -1);
      if constexpr (kNorm) {
        VectorPair<T> x, weight;
        if (is_there) x.load(qkv + at, half);
        weight.load((kind == kQuery ? q_weight : k_weight) + column, half);
        float along = 0;
#pragma unroll
        for (int i = 0; i < kSize; ++i)
          along += d.a[i] * weight.a[i] * x.a[i] + d.b[i] * weight.b[i] * x.b[i];
        const float rstd = rsqrtf(head_sum(x.squares()) / layout.dim + epsilon);
        along = head_sum(along) * rstd / layout.dim;
#pragma unroll
        for (int i = 0; i < kSize; ++i) {
          const float a = x.a[i] * rstd, b = x.b[i] * rstd;
          dq_weight.a[i] += kind == kQuery ? d.a[i] * a : 0;
          dq_weight.b[i] += kind == kQuery ? d.b[i] * b : 0;
          dk_weight.a[i] += kind == kKey ? d.a[i] * a : 0;
          dk_weight.b[i] += kind == kKey ? d.b[i] * b : 0;
          if (kind == kValue) continue;
          d.a[i] = rstd * (d.a[i] * weight.a[i] - a * along);
          d.b[i] = rstd * (d.b[i] * weight.b[i] - b * along);
        }
      }
      if (is_there) d.store(to + at, half);
    }
  }
  if constexpr (kNorm) {
    extern __shared__ float shared[];  // [blockDim.y][queries, keys][dim]
    float* mine = shared + threadIdx.y * 2 * layout.dim + column;
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      mine[i] = dq_weight.a[i];
      mine[half + i] = dq_weight.b[i];
      mine[layout.dim + i] = dk_weight.a[i];
      mine[layout.dim + half + i] = dk_weight.b[i];
    }
    __syncthreads();
    const int threads = blockDim.x * blockDim.y;
    for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < 2 * layout.dim; i += threads) {
      float sum = 0;
      for (int y = 0; y < blockDim.y; ++y) sum += shared[y * 2 * layout.dim + i];
      parts[static_cast<std::int64_t>(blockIdx.x) * 2 * layout.dim + i] = sum;
    }
  }
}

HeadLayout layout_of(const HeadShape& shape) {
  return {static_cast<int>(shape.seq), static_cast<int>(shape.heads),
          static_cast<int>(shape.kv_heads), static_cast<int>(shape.dim)};
}

// Threads per head, and number of heads at a time.
template <class T>
dim3 threads_of(const HeadShape& shape) {
  const auto lanes = static_cast<unsigned>(shape.dim / 2 / Vector<T>::kSize);
  return {lanes, kThreads / lanes};
}

template <class T>
Gradient<T> gradient_of(const at::Tensor& x) {
  TORCH_CHECK(x.stride(3) == 1, "heads must be contiguous");
  return {x.data_ptr<T>(), x.stride(0), x.stride(1), x.stride(2)};
}

template <class T>
const T* data_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr<T>() : nullptr;
}

// Moves gradients of unrotated heads back to the product's order, with the sums of its columns in
// the same pass.
template <class T>
struct HeadGradientWriter {
  Gradients3<T> gradients;
  T* to;
  HeadLayout layout;

  __device__ Vector<T> operator()(int row, int column) const {
    const int place = column / layout.dim, within = column % layout.dim;
    const auto [kind, head] = unit_at(place, layout);
    const Gradient<T> from = kind == kQuery ? gradients.q
                             : kind == kKey ? gradients.k
                                            : gradients.v;
    const auto vector =
        load_vector(from.data + row / layout.seq * from.of_sample + head * from.of_head +
                    row % layout.seq * from.of_place + within);
    store_vector(to + static_cast<std::int64_t>(row) * layout.units() * layout.dim + column,
                 vector);
    return vector;
  }
};

at::Tensor lay_back(const Heads& gradients, const HeadShape& shape,
                    const at::Tensor& bias_gradient) {
  const auto rows = gradients.q.size(0) * shape.seq, columns = shape.units() * shape.dim;
  const auto out = at::empty({rows, columns}, gradients.q.options());
  ORCH_DISPATCH(out.scalar_type(), "lay_back", [&] {
    const HeadGradientWriter<scalar_t> laid{
        {gradient_of<scalar_t>(gradients.q), gradient_of<scalar_t>(gradients.k),
         gradient_of<scalar_t>(gradients.v)},
        out.data_ptr<scalar_t>(),
        layout_of(shape)};
    add_columns<scalar_t>(laid, rows, columns, bias_gradient);
  });
  return out;
}

}  // namespace

// Needs whole vectors in each half; with norms, also a number of threads per head that a warp can
// sum over.
bool heads_work(const at::Tensor& like, const HeadShape& shape, const HeadNorms& norms) {
  const auto vector = 16 / static_cast<std::int64_t>(like.element_size());
  const auto lanes = shape.dim / 2 / vector;
  if (shape.dim % (2 * vector) != 0 || lanes > kThreads) return false;
  return !norms.q.defined() || (lanes <= 32 && (lanes & (lanes - 1)) == 0);
}

void rotate_heads(const at::Tensor& qkv, const HeadShape& shape, const RotaryTable& table,
                  const HeadNorms& norms, const at::Tensor& to) {
  const auto rows = static_cast<unsigned>(qkv.size(0));
  ORCH_DISPATCH(qkv.scalar_type(), "rotate_heads", [&] {
    const auto launch = [&](auto kernel) {
      kernel<<<rows, threads_of<scalar_t>(shape), 0, stream()>>>(
          qkv.data_ptr<scalar_t>(), to.data_ptr<scalar_t>(), data_of<float>(table.cos),
          data_of<float>(table.sin), data_of<scalar_t>(norms.q), data_of<scalar_t>(norms.k),
          layout_of(shape), static_cast<float>(norms.epsilon));
    };
    if (norms.q.defined())
      launch(rotate_kernel<scalar_t, true>);
    else
      launch(rotate_kernel<scalar_t, false>);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

at::Tensor rotate_heads_backward(const Heads& gradients, const at::Tensor& qkv,
                                 const HeadShape& shape, const RotaryTable& table,
                                 const HeadNorms& norms, const HeadNorms& norm_gradients,
                                 const at::Tensor& bias_gradient) {
  const bool normed = norms.q.defined();
  if (!normed && !table.cos.defined()) return lay_back(gradients, shape, bias_gradient);
  const auto rows = gradients.q.size(0) * shape.seq;
  const auto out = at::empty({rows, shape.units() * shape.dim}, gradients.q.options());
  const auto blocks =
      normed ? std::min<std::int64_t>(
                   rows, 4 * at::cuda::getCurrentDeviceProperties()->multiProcessorCount)
             : rows;
  const auto parts =
      normed ? at::empty({blocks, 2, shape.dim}, out.options().dtype(at::kFloat)) : at::Tensor();
  ORCH_DISPATCH(out.scalar_type(), "rotate_heads_backward", [&] {
    const auto threads = threads_of<scalar_t>(shape);
    const auto shared =
        normed ? threads.y * 2 * static_cast<std::size_t>(shape.dim) * sizeof(float) : 0;
    const auto launch = [&](auto kernel) {
      kernel<<<static_cast<unsigned>(blocks), threads, shared, stream()>>>(
          {gradient_of<scalar_t>(gradients.q), gradient_of<scalar_t>(gradients.k),
           gradient_of<scalar_t>(gradients.v)},
          normed ? qkv.data_ptr<scalar_t>() : nullptr, out.data_ptr<scalar_t>(),
          data_of<float>(table.cos), data_of<float>(table.sin), data_of<scalar_t>(norms.q),
          data_of<scalar_t>(norms.k), normed ? parts.data_ptr<float>() : nullptr, rows,
          layout_of(shape), static_cast<float>(norms.epsilon));
    };
    if (normed)
      launch(rotate_backward_kernel<scalar_t, true>);
    else
      launch(rotate_backward_kernel<scalar_t, false>);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  if (normed) add_rows({norm_gradients.q, norm_gradients.k}, parts);
  if (bias_gradient.defined()) add_bias_gradient(bias_gradient, out);
  return out;
}

}  // namespace orch::train::cuda
