#include "backends/runtime/kernels/adamw_kernel.h"
#include "backends/runtime/kernels/device.cuh"
#include "backends/runtime/kernels/kernels.h"

namespace orch::train::cuda {
namespace {

constexpr int kThreads = 256;

// The formula of adamw_kernel.cpp, a block for each chunk; without contraction, as there: host and
// device give the same bits.
template <class Master, class Weight, class Gradient>
__global__ void adamw_kernel(Master* master, Weight* weight, const Gradient* gradient,
                             Master* exp_avg, Master* exp_avg_sq, const std::int64_t* chunks,
                             AdamwFactors decaying, AdamwFactors plain) {
  const std::int64_t* chunk = chunks + 3 * static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t end = chunk[0] + chunk[1];
  const AdamwFactors f = chunk[2] ? decaying : plain;
  for (std::int64_t i = chunk[0] + threadIdx.x; i < end; i += kThreads) {
    const float g = static_cast<float>(gradient[i]) * f.gradient_scale;
    const float m = f.beta1 * static_cast<float>(exp_avg[i]) + f.rest1 * g;
    const float v = f.beta2 * static_cast<float>(exp_avg_sq[i]) + f.rest2 * g * g;
    const float w =
        f.keep * static_cast<float>(master[i]) - f.rate * m / (sqrtf(v) * f.root + f.epsilon);
    exp_avg[i] = static_cast<Master>(m);
    exp_avg_sq[i] = static_cast<Master>(v);
    master[i] = static_cast<Master>(w);
    if (weight) weight[i] = static_cast<Weight>(w);
  }
}

template <class Master, class Weight, class Gradient>
void launch(const AdamwArguments& a) {
  const auto factors = [&](double decay) {
    return adamw_factors(a.learning_rate, decay, a.beta1, a.beta2, a.epsilon, a.gradient_scale,
                         a.step);
  };
  adamw_kernel<<<static_cast<unsigned>(a.chunks.size(0)), kThreads, 0, stream()>>>(
      a.master.data_ptr<Master>(), a.weight.defined() ? a.weight.data_ptr<Weight>() : nullptr,
      a.gradient.data_ptr<Gradient>(), a.exp_avg.data_ptr<Master>(),
      a.exp_avg_sq.data_ptr<Master>(), a.chunks.data_ptr<std::int64_t>(), factors(a.weight_decay),
      factors(0));
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
