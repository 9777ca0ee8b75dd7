#include "core/train/checkpoint/pieces.h"

#include <limits>

#include "core/base/text.h"

namespace orch::checkpoint {
namespace {

// Restricts the rows of the first dim to those that the range can touch.
void narrow(CommonDim& first, std::int64_t offset, std::int64_t stride, const TensorPiece& piece) {
  first.low = std::max(first.low, offset + piece.begin / stride);
  first.high = std::min(first.high, offset + (piece.end + stride - 1) / stride);
}

void set_strides(std::vector<CommonDim>& dims) {
  for (std::size_t i = dims.size() - 1; i > 0; --i) {
    dims[i - 1].stride_a = dims[i].stride_a * dims[i].size_a;
    dims[i - 1].stride_b = dims[i].stride_b * dims[i].size_b;
  }
}

bool is_whole(const CommonDim& dim) { return dim.size_a == dim.size && dim.size_b == dim.size; }

}  // namespace

// The product of any numbers that a file may contain; saturates on overflow.
std::int64_t count(std::span<const std::int64_t> sizes) {
  std::int64_t product = 1;
  for (const auto size : sizes)
    if (__builtin_mul_overflow(product, size, &product))
      return std::numeric_limits<std::int64_t>::max();
  return product;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::vector<std::string> parts;
  for (const auto size : shape) parts.push_back(std::to_string(size));
  return "[" + join(parts, ", ") + "]";
}

TensorPiece TensorPiece::whole(std::string name, TensorDtype dtype,
                               std::vector<std::int64_t> shape) {
  TensorPiece piece;
  piece.name = std::move(name);
  piece.dtype = dtype;
  piece.offsets.assign(shape.size(), 0);
  piece.sizes = shape;
  piece.end = count(shape);
  piece.shape = std::move(shape);
  return piece;
}

Status check_piece(const TensorPiece& piece) {
  const auto bad = [&](std::string fact) {
    return Error{printable(piece.name), std::move(fact), ""};
  };
  const auto dims = piece.shape.size();
  if (piece.offsets.size() != dims || piece.sizes.size() != dims)
    return bad("a box with another number of dims than its shape");
  std::int64_t all = 1;
  for (std::size_t i = 0; i < dims; ++i) {
    const auto shape = piece.shape[i], offset = piece.offsets[i], size = piece.sizes[i];
    if (shape < 0 || offset < 0 || size < 0 || size > shape || offset > shape - size)
      return bad("a box beyond its shape " + shape_text(piece.shape));
    if (__builtin_mul_overflow(all, std::max<std::int64_t>(shape, 1), &all) || all >= 1ll << 59)
      return bad("a shape beyond all memory");
  }
  if (piece.begin < 0 || piece.begin > piece.end || piece.end > count(piece.sizes))
    return bad("a range beyond its box " + shape_text(piece.sizes));
  return {};
}

std::vector<CommonDim> common_dims(const TensorPiece& a, const TensorPiece& b) {
  std::vector<CommonDim> dims;
  for (std::size_t i = a.shape.size(); i-- > 0;) {
    CommonDim dim{a.shape[i], a.offsets[i], a.sizes[i], b.offsets[i], b.sizes[i]};
    if (!dims.empty() && is_whole(dims.front())) {
      const auto inner = dims.front().size;
      for (auto* size : {&dim.size, &dim.offset_a, &dim.size_a, &dim.offset_b, &dim.size_b})
        *size *= inner;
      dims.front() = dim;
    } else {
      dims.insert(dims.begin(), dim);
    }
  }
  if (dims.empty()) dims.push_back({1, 0, 1, 0, 1});  // a scalar
  set_strides(dims);
  for (auto& dim : dims) {
    dim.low = std::max(dim.offset_a, dim.offset_b);
    dim.high = std::min(dim.offset_a + dim.size_a, dim.offset_b + dim.size_b);
    if (dim.low >= dim.high) return {};
  }
  narrow(dims.front(), dims.front().offset_a, dims.front().stride_a, a);
  narrow(dims.front(), dims.front().offset_b, dims.front().stride_b, b);
  if (dims.front().low >= dims.front().high) return {};
  return dims;
}

}  // namespace orch::checkpoint
