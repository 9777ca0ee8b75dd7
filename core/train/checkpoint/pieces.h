#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace orch::checkpoint {

enum class TensorDtype { f32, f16, bf16, f64, i64, u8 };
std::size_t bytes_of(TensorDtype dtype);

// A part of a tensor: a box, given by offsets and sizes in the global shape, and of the box's
// elements, in row-major order, the range [begin, end). So a tensor-parallel slice is a box, a
// shard of a flat buffer is a range, and a shard of a slice is both. All ranks must cut a tensor
// into the same boxes.
struct TensorPiece {
  std::string name;  // "weights/layers.0.mlp.up.weight", "exp_avg/…", "powersgd.error.3/…"
  TensorDtype dtype = TensorDtype::f32;
  std::vector<std::int64_t> shape;    // of the whole tensor
  std::vector<std::int64_t> offsets;  // of the box
  std::vector<std::int64_t> sizes;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  // A piece that is a whole tensor.
  static TensorPiece whole(std::string name, TensorDtype dtype, std::vector<std::int64_t> shape);
};

std::int64_t count(std::span<const std::int64_t> sizes);
inline std::int64_t elements(const TensorPiece& piece) { return piece.end - piece.begin; }
std::string shape_text(std::span<const std::int64_t> shape);  // "[4, 3]"

// Checks that the box is inside the shape, the range inside the box, and the number of bytes does
// not overflow.
Status check_piece(const TensorPiece& piece);

// The overlap of two boxes of one tensor along a dim; adjacent dims that both boxes cover
// completely are merged.
struct CommonDim {
  std::int64_t size;  // size of the tensor
  std::int64_t offset_a, size_a, offset_b, size_b;
  std::int64_t stride_a = 1, stride_b = 1;  // distance in elements of the box
  std::int64_t low = 0, high = 0;           // the common range
};
// Empty if they do not overlap.
std::vector<CommonDim> common_dims(const TensorPiece& a, const TensorPiece& b);

// Elements that two pieces of one tensor share: their beginning in each piece's data, and their
// number.
struct ElementRun {
  std::int64_t at_a, at_b, count;
};

// Calls use(Run) for each run that is contiguous in both pieces, in their order.
template <class Use>
void for_each_run(const TensorPiece& a, const TensorPiece& b, Use use) {
  const auto dims = common_dims(a, b);
  if (dims.empty()) return;
  const auto& last = dims.back();
  std::vector<std::int64_t> at;
  for (const auto& dim : dims) at.push_back(dim.low);
  while (true) {
    std::int64_t in_a = 0, in_b = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      in_a += (at[i] - dims[i].offset_a) * dims[i].stride_a;
      in_b += (at[i] - dims[i].offset_b) * dims[i].stride_b;
    }
    const auto first = std::max({std::int64_t{0}, a.begin - in_a, b.begin - in_b});
    const auto end = std::min({last.high - last.low, a.end - in_a, b.end - in_b});
    if (first < end) use(ElementRun{in_a + first - a.begin, in_b + first - b.begin, end - first});
    std::size_t dim = dims.size() - 1;  // advances to the next row
    while (dim > 0 && ++at[dim - 1] == dims[dim - 1].high) {
      at[dim - 1] = dims[dim - 1].low;
      --dim;
    }
    if (dim == 0) return;
  }
}

}  // namespace orch::checkpoint
