#include "backends/runtime/kernels/adamw_kernel.h"
#include "backends/runtime/kernels/device.cuh"
#include "backends/runtime/kernels/kernels.h"

namespace orch::train::cuda {
namespace {

constexpr int kThreads = 256;

template <class Master, class Weight, class Gradient>
struct Pointers {
  Master* master;
  Weight* weight;
  const Gradient* gradient;
  Master *exp_avg, *exp_avg_sq;
};

// kCount consecutive numbers, read and written at once.
template <class T, int kCount>
struct alignas(kCount * sizeof(T)) Row {
  T values[kCount];
};

// The formula of adamw_kernel.cpp, also without contraction: host and device give the same bits.
template <int kCount, class Master, class Weight, class Gradient>
__device__ void update(const Pointers<Master, Weight, Gradient>& at, std::int64_t i,
                       const AdamwFactors& f) {
  using Masters = Row<Master, kCount>;
  auto master = *reinterpret_cast<const Masters*>(at.master + i);
  auto exp_avg = *reinterpret_cast<const Masters*>(at.exp_avg + i);
  auto exp_avg_sq = *reinterpret_cast<const Masters*>(at.exp_avg_sq + i);
  const auto gradient = *reinterpret_cast<const Row<Gradient, kCount>*>(at.gradient + i);
  Row<Weight, kCount> weight;
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    const float g = static_cast<float>(gradient.values[j]) * f.gradient_scale;
    const float m = f.beta1 * static_cast<float>(exp_avg.values[j]) + f.rest1 * g;
    const float v = f.beta2 * static_cast<float>(exp_avg_sq.values[j]) + f.rest2 * g * g;
    const float w = f.keep * static_cast<float>(master.values[j]) -
                    f.rate * m / (sqrtf(v) * f.root + f.epsilon);
    exp_avg.values[j] = static_cast<Master>(m);
    exp_avg_sq.values[j] = static_cast<Master>(v);
    master.values[j] = static_cast<Master>(w);
    weight.values[j] = static_cast<Weight>(w);
  }
  *reinterpret_cast<Masters*>(at.exp_avg + i) = exp_avg;
  *reinterpret_cast<Masters*>(at.exp_avg_sq + i) = exp_avg_sq;
  *reinterpret_cast<Masters*>(at.master + i) = master;
  if (at.weight) *reinterpret_cast<Row<Weight, kCount>*>(at.weight + i) = weight;
}

// One block per chunk, four numbers at a time if the chunk begins at a multiple of four.
template <class Master, class Weight, class Gradient>
__global__ void adamw_kernel(Pointers<Master, Weight, Gradient> at, const std::int64_t* chunks,
                             AdamwFactors decaying, AdamwFactors plain, bool is_aligned) {
  const std::int64_t* chunk = chunks + 3 * static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t begin = chunk[0], end = begin + chunk[1];
  const AdamwFactors f = chunk[2] ? decaying : plain;
  const std::int64_t fours = is_aligned && begin % 4 == 0 ? begin + chunk[1] / 4 * 4 : begin;
  for (std::int64_t i = begin + 4 * threadIdx.x; i < fours; i += 4 * kThreads) update<4>(at, i, f);
  for (std::int64_t i = fours + threadIdx.x; i < end; i += kThreads) update<1>(at, i, f);
}

template <class Master, class Weight, class Gradient>
void launch(const AdamwArguments& a) {
  const auto factors = [&](double decay) {
    return adamw_factors(a.learning_rate, decay, a.beta1, a.beta2, a.epsilon, a.gradient_scale,
                         a.step);
  };
  const Pointers<Master, Weight, Gradient> at{
      a.master.data_ptr<Master>(), a.weight.defined() ? a.weight.data_ptr<Weight>() : nullptr,
      a.gradient.data_ptr<Gradient>(), a.exp_avg.data_ptr<Master>(),
      a.exp_avg_sq.data_ptr<Master>()};
  bool is_aligned = true;
  for (const void* pointer :
       {static_cast<const void*>(at.master), static_cast<const void*>(at.weight),
        static_cast<const void*>(at.gradient), static_cast<const void*>(at.exp_avg),
        static_cast<const void*>(at.exp_avg_sq)})
    is_aligned = is_aligned && reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
  adamw_kernel<<<static_cast<unsigned>(a.chunks.size(0)), kThreads, 0, stream()>>>(
      at, a.chunks.data_ptr<std::int64_t>(), factors(a.weight_decay), factors(0), is_aligned);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace

void adamw(const AdamwArguments& a) {
  const auto master = a.master.scalar_type();
  if (master == at::kFloat && !a.weight.defined()) return launch<float, float, float>(a);
  if (master == at::kBFloat16) return launch<at::BFloat16, at::BFloat16, at::BFloat16>(a);
  if (master == at::kHalf) return launch<at::Half, at::Half, at::Half>(a);
  const bool wide = a.gradient.scalar_type() == at::kFloat;
  if (a.weight.scalar_type() == at::kBFloat16)
    return wide ? launch<float, at::BFloat16, float>(a)
                : launch<float, at::BFloat16, at::BFloat16>(a);
  return wide ? launch<float, at::Half, float>(a) : launch<float, at::Half, at::Half>(a);
}

}  // namespace orch::train::cuda
