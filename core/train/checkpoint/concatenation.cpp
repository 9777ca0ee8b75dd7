#include "core/train/checkpoint/concatenation.h"

#include "core/base/text.h"
#include "core/train/checkpoint/pieces.h"

namespace orch::checkpoint {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;
// Their memory is a few hundred MiB; a file of some bytes can ask for any number.
constexpr std::size_t kMostSegments = std::size_t{1} << 23;

Piece box_of(Piece piece) {
  piece.begin = 0;
  piece.end = count(piece.sizes);
  return piece;
}

// What tells a box from all others.
std::string key_of(const Piece& piece) {
  auto key = piece.name + '\0' + std::to_string(static_cast<int>(piece.dtype));
  for (const auto* numbers : {&piece.shape, &piece.offsets, &piece.sizes})
    for (const auto number : *numbers) key += ',' + std::to_string(number);
  return key;
}

}  // namespace

Status Concatenation::add(std::size_t rank, const Piece& piece) {
  const auto found = by_key_.find(key_of(piece));
  const auto index = found == by_key_.end() ? boxes_.size() : found->second;
  if (found == by_key_.end())
    if (auto status = add_box(box_of(piece)); !status) return status;
  if (elements(piece) == 0) return {};
  const auto size = static_cast<std::int64_t>(bytes_of(piece.dtype));
  return add_segments(rank, {boxes_[index].begin + piece.begin * size, elements(piece) * size});
}

Status Concatenation::add_box(const Piece& box) {
  const auto begin = bytes();
  const auto size = count(box.sizes) * static_cast<std::int64_t>(bytes_of(box.dtype));
  if (size > kMostBytes - begin)
    return Error{printable(box.name), "together with the tensors before it beyond all memory", ""};
  if (!by_key_.emplace(key_of(box), boxes_.size()).second)
    return Error{printable(box.name), "a box of it is there twice", ""};
  boxes_.push_back({box, begin, begin + size});
  return {};
}

Status Concatenation::add_segments(std::size_t rank, SegmentRow row) {
  if (row.count > kMostSegments - segments_.size())
    return Error{"rank-" + std::to_string(rank), "with the others has too many segments", ""};
  for (std::uint64_t i = 0; i < row.count; ++i) {
    if (auto status = add_segment(rank, row.begin, row.bytes); !status) return status;
    if (__builtin_add_overflow(row.begin, row.stride, &row.begin)) row.begin = -1;  // beyond all
  }
  return {};
}

Status Concatenation::add_segment(std::size_t rank, std::int64_t begin, std::int64_t size) {
  const auto bad = [&](const char* fact) {
    return Error{"rank-" + std::to_string(rank), fact, ""};
  };
  if (begin < 0 || size <= 0 || size > bytes() || begin > bytes() - size)
    return bad("has bytes beyond the tensors");
  std::int64_t at = 0;
  if (!segments_.empty() && segments_.back().rank == rank) {
    auto& last = segments_.back();
    at = last.at + last.end - last.begin;
    if (last.end == begin) {
      last.end += size;
      return {};
    }
    if (at > kMostBytes - size) return bad("has more bytes than there can be");
  }
  segments_.push_back({begin, begin + size, rank, at});
  return {};
}

}  // namespace orch::checkpoint
