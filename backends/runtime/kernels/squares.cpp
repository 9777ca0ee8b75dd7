#include "backends/runtime/kernels/squares.h"

#include <ATen/core/Tensor.h>

#include <stdexcept>
#include <string>

#include "backends/runtime/kernels/simd.h"

namespace orch::train::squares {
namespace {

// Squares of types up to 32 bits are exact in double.
ORCH_INLINE double square(double x) { return x * x; }
ORCH_INLINE double square_of(float x) { return square(x); }
ORCH_INLINE double square_of(at::BFloat16 x) { return square(static_cast<float>(x)); }
ORCH_INLINE double square_of(at::Half x) { return square(static_cast<float>(x)); }
ORCH_INLINE double square_of(double sum) { return sum; }  // already squared

template <class T>
ORCH_INLINE double in_lanes(const T* from, std::int64_t count) {
  alignas(64) double lanes[kLanes] = {};
  const auto whole = count / kLanes * kLanes;
  for (std::int64_t row = 0; row < whole; row += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += square_of(from[row + lane]);
  for (auto i = whole; i < count; ++i) lanes[i - whole] += square_of(from[i]);
  for (auto half = kLanes / 2; half > 0; half /= 2)
    for (std::int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

ORCH_SIMD double of(const float* from, std::int64_t count) { return in_lanes(from, count); }
ORCH_SIMD double of(const at::BFloat16* from, std::int64_t count) { return in_lanes(from, count); }
ORCH_SIMD double of(const at::Half* from, std::int64_t count) { return in_lanes(from, count); }
ORCH_SIMD double of(const double* from, std::int64_t count) { return in_lanes(from, count); }

}  // namespace

double of_chunk(const at::Tensor& flat) {
  const auto count = flat.numel();
  if (flat.scalar_type() == at::kFloat) return of(flat.data_ptr<float>(), count);
  if (flat.scalar_type() == at::kBFloat16) return of(flat.data_ptr<at::BFloat16>(), count);
  if (flat.scalar_type() == at::kHalf) return of(flat.data_ptr<at::Half>(), count);
  throw std::invalid_argument(std::string("sum of squares: gradients of ") +
                              at::toString(flat.scalar_type()));
}

double of_sums(const double* sums, std::int64_t count) { return of(sums, count); }

}  // namespace orch::train::squares
