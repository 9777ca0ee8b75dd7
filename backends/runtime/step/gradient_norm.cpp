#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "backends/runtime/kernels/simd.h"
#include "backends/runtime/step/optimizer.h"

namespace orch::train {
namespace {

// Fixed, so that sums are taken in one order however many threads there are.
constexpr std::int64_t kChunk = 1 << 16;  // elements
constexpr std::int64_t kLanes = 16;

// Squares of up to 32 bits are exact in double.
template <class T>
ORCH_INLINE double lane_squares(const T* from, std::int64_t count) {
  double lanes[kLanes] = {};
  const auto whole = count / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const double x = static_cast<float>(from[i + lane]);
      lanes[lane] += x * x;
    }
  for (auto i = whole; i < count; ++i) {
    const double x = static_cast<float>(from[i]);
    lanes[i - whole] += x * x;
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

ORCH_SIMD double squares(const float* from, std::int64_t count) { return lane_squares(from, count); }
ORCH_SIMD double squares(const at::BFloat16* from, std::int64_t count) {
  return lane_squares(from, count);
}
ORCH_SIMD double squares(const at::Half* from, std::int64_t count) {
  return lane_squares(from, count);
}

template <class T>
double squares_of(const at::Tensor& flat) {
  const auto* from = flat.data_ptr<T>();
  const auto count = flat.numel();
  std::vector<double> sums(static_cast<std::size_t>((count + kChunk - 1) / kChunk));
  at::parallel_for(0, static_cast<std::int64_t>(sums.size()), 1, [&](auto begin, auto end) {
    for (auto i = begin; i < end; ++i)
      sums[static_cast<std::size_t>(i)] =
          squares(from + i * kChunk, std::min(kChunk, count - i * kChunk));
  });
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

double squares_cpu(const at::Tensor& flat) {
  if (flat.scalar_type() == at::kFloat) return squares_of<float>(flat);
  if (flat.scalar_type() == at::kBFloat16) return squares_of<at::BFloat16>(flat);
  if (flat.scalar_type() == at::kHalf) return squares_of<at::Half>(flat);
  throw std::invalid_argument(std::string("sum_of_squares: gradients of ") +
                              at::toString(flat.scalar_type()));
}

// Chunks in fp32, then their norms in double: a double copy of the whole would not fit.
at::Tensor squares_cuda(const at::Tensor& flat) {
  const auto rows = flat.numel() / kChunk, whole = rows * kChunk;
  const auto norms = [&](const at::Tensor& matrix) {
    return at::linalg_vector_norm(matrix, 2, at::IntArrayRef({1}), false, at::kFloat);
  };
  const auto parts = at::cat({norms(flat.narrow(0, 0, whole).view({rows, kChunk})),
                              norms(flat.narrow(0, whole, flat.numel() - whole).view({1, -1}))});
  return parts.to(at::kDouble).square().sum();
}

}  // namespace

at::Tensor sum_of_squares(const at::Tensor& flat) {
  if (flat.is_cuda()) return squares_cuda(flat);
  return at::scalar_tensor(squares_cpu(flat), at::kDouble);
}

double clip_coefficient(double norm, double max_norm) {
  if (max_norm == 0) return 1;
  return std::min(1.0, max_norm / (norm + 1e-6));
}

}  // namespace orch::train
