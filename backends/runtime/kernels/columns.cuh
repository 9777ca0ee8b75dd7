#pragma once

// Sums of columns, computed in the same pass as other work on the rows.
#include <algorithm>

#include "backends/runtime/kernels/device.cuh"

namespace orch::train::cuda {

// Each thread has one vector of columns and every gridDim.y * blockDim.y-th row: rows_of(row,
// column) returns its values. There is one sum per block, in a fixed order.
template <class T, class Rows>
__global__ void columns_kernel(Rows rows_of, float* parts, int rows, int columns) {
  constexpr int kSize = Vector<T>::kSize;
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * kSize;
  float sums[kSize] = {};
  if (column < columns) {
    const int step = static_cast<int>(gridDim.y * blockDim.y);
#pragma unroll 4
    for (int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y); row < rows;
         row += step) {
      const auto vector = rows_of(row, column);
      for (int i = 0; i < kSize; ++i) sums[i] += static_cast<float>(vector.values[i]);
    }
  }
  __shared__ float shared[8][32 * kSize];
  for (int i = 0; i < kSize; ++i) shared[threadIdx.y][threadIdx.x * kSize + i] = sums[i];
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int i = 0; i < kSize; ++i) {
    float sum = 0;
    for (int y = 0; y < 8; ++y) sum += shared[y][threadIdx.x * kSize + i];
    parts[static_cast<std::int64_t>(blockIdx.y) * columns + column + i] = sum;
  }
}

// to: tensors to which the sums are added; may be undefined.
template <class T, class Rows>
void add_columns(const Rows& rows_of, std::int64_t rows, std::int64_t columns,
                 const at::Tensor& to) {
  constexpr std::int64_t kSize = Vector<T>::kSize, kBlocks = 132 * 8;  // blocks that fill a GPU
  TORCH_CHECK(columns % kSize == 0, "a width of ", columns, " has no kernel");
  const auto across = (columns / kSize + 31) / 32;
  const auto blocks = std::min(std::max<std::int64_t>(kBlocks / across, 64), (rows + 7) / 8);
  const auto parts =
      at::empty({blocks, 1, columns}, at::TensorOptions().dtype(at::kFloat).device(at::kCUDA));
  const dim3 grid(static_cast<unsigned>(across), static_cast<unsigned>(blocks));
  columns_kernel<T><<<grid, dim3(32, 8), 0, stream()>>>(
      rows_of, parts.template data_ptr<float>(), static_cast<int>(rows), static_cast<int>(columns));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  if (to.defined()) add_rows(to, parts);
}

}  // namespace orch::train::cuda
