#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

#include "backends/runtime/kernels/squares.h"
#include "backends/runtime/step/optimizer.h"

namespace orch::train {

at::Tensor sum_of_squares(const at::Tensor& flat) {
#ifdef ORCH_CUDA
  if (flat.is_cuda()) return squares::on_device(flat);
#endif
  const auto count = flat.numel();
  std::vector<double> sums(
      static_cast<std::size_t>((count + squares::kChunk - 1) / squares::kChunk));
  at::parallel_for(0, static_cast<std::int64_t>(sums.size()), 1, [&](auto begin, auto end) {
    for (auto i = begin; i < end; ++i)
      sums[static_cast<std::size_t>(i)] = squares::of_chunk(flat.narrow(
          0, i * squares::kChunk, std::min(squares::kChunk, count - i * squares::kChunk)));
  });
  return at::scalar_tensor(squares::of_sums(sums.data(), static_cast<std::int64_t>(sums.size())),
                           at::kDouble);
}

double clip_coefficient(double norm, double max_norm) {
  if (max_norm == 0) return 1;
  return std::min(1.0, max_norm / (norm + 1e-6));
}

}  // namespace orch::train
