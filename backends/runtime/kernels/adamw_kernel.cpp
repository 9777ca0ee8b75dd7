#include "backends/runtime/kernels/adamw_kernel.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

#include "backends/runtime/kernels/simd.h"

// This file is compiled without contraction to fused multiply-adds, so that vector code, the scalar
// remainder and all processors give the same bits.
namespace orch::train {
namespace {

using c10::BFloat16, c10::Half;

// c10's own conversions have a branch that prevents vectorisation.
struct Bf16 {
  std::uint16_t bits;
};

ORCH_INLINE float load(float x) { return x; }
ORCH_INLINE float load(Half x) { return static_cast<float>(x); }
ORCH_INLINE float load(Bf16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }

ORCH_INLINE void store(float& to, float x) { to = x; }
ORCH_INLINE void store(Half& to, float x) { to = static_cast<Half>(x); }
// Rounds to nearest, ties to even; NaN stays NaN.
ORCH_INLINE void store(Bf16& to, float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  to.bits = static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
}

// Loshchilov & Hutter 2019, algorithm 2.
template <class Master, class Weight, class Gradient>
ORCH_INLINE void update(const AdamwBuffers& buffers, std::int64_t begin, std::int64_t end,
                        const AdamwFactors& factors) {
  auto* __restrict__ master = static_cast<Master*>(buffers.master);
  auto* __restrict__ weight = static_cast<Weight*>(buffers.weight);
  const auto* __restrict__ gradient = static_cast<const Gradient*>(buffers.gradient);
  auto* __restrict__ exp_avg = static_cast<Master*>(buffers.exp_avg);
  auto* __restrict__ exp_avg_sq = static_cast<Master*>(buffers.exp_avg_sq);
  const AdamwFactors f = factors;
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const float g = load(gradient[i]) * f.gradient_scale;
    const float m = f.beta1 * load(exp_avg[i]) + f.rest1 * g;
    const float v = f.beta2 * load(exp_avg_sq[i]) + f.rest2 * g * g;
    const float w = f.keep * load(master[i]) - f.rate * m / (std::sqrt(v) * f.root + f.epsilon);
    store(exp_avg[i], m);
    store(exp_avg_sq[i], v);
    store(master[i], w);
    if constexpr (!std::is_same_v<Master, Weight>) store(weight[i], w);
  }
}

#define ORCH_ADAMW(name, Master, Weight, Gradient)                                       \
  ORCH_SIMD void name(const AdamwBuffers& buffers, std::int64_t begin, std::int64_t end, \
                      const AdamwFactors& factors) {                                     \
    update<Master, Weight, Gradient>(buffers, begin, end, factors);                      \
  }
ORCH_ADAMW(fp32, float, float, float)
ORCH_ADAMW(bf16_masters, float, Bf16, float)
ORCH_ADAMW(fp16_masters, float, Half, float)
ORCH_ADAMW(bf16_gradients, float, Bf16, Bf16)
ORCH_ADAMW(fp16_gradients, float, Half, Half)
ORCH_ADAMW(bf16, Bf16, Bf16, Bf16)
ORCH_ADAMW(fp16, Half, Half, Half)
#undef ORCH_ADAMW

struct KernelEntry {
  c10::ScalarType master, weight, gradient;
  AdamwKernel kernel;
};
constexpr auto kFp32 = c10::ScalarType::Float;
constexpr auto kBf16 = c10::ScalarType::BFloat16;
constexpr auto kFp16 = c10::ScalarType::Half;

}  // namespace

AdamwFactors adamw_factors(double learning_rate, double weight_decay, double beta1, double beta2,
                           double epsilon, double gradient_scale, std::int64_t step) {
  const auto narrow = [](double x) { return static_cast<float>(x); };
  const auto t = static_cast<double>(step);
  return {.gradient_scale = narrow(gradient_scale),
          .keep = narrow(1 - learning_rate * weight_decay),
          .beta1 = narrow(beta1),
          .rest1 = narrow(1 - beta1),
          .beta2 = narrow(beta2),
          .rest2 = narrow(1 - beta2),
          .rate = narrow(learning_rate / (1 - std::pow(beta1, t))),
          .root = narrow(1 / std::sqrt(1 - std::pow(beta2, t))),
          .epsilon = narrow(epsilon)};
}

AdamwKernel adamw_kernel(c10::ScalarType master, c10::ScalarType weight, c10::ScalarType gradient) {
  static constexpr KernelEntry kEntries[] = {{kFp32, kFp32, kFp32, fp32},
                                             {kFp32, kBf16, kFp32, bf16_masters},
                                             {kFp32, kFp16, kFp32, fp16_masters},
                                             {kFp32, kBf16, kBf16, bf16_gradients},
                                             {kFp32, kFp16, kFp16, fp16_gradients},
                                             {kBf16, kBf16, kBf16, bf16},
                                             {kFp16, kFp16, kFp16, fp16}};
  for (const auto& entry : kEntries)
    if (entry.master == master && entry.weight == weight && entry.gradient == gradient)
      return entry.kernel;
  throw std::invalid_argument(std::string("AdamW: no kernel for masters of ") +
                              c10::toString(master) + ", weights of " + c10::toString(weight) +
                              " and gradients of " + c10::toString(gradient));
}

}  // namespace orch::train
