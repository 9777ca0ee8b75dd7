#include "core/train/checkpoint/index.h"

#include <algorithm>

#include "core/base/counter_random.h"
#include "core/base/text.h"
#include "core/train/checkpoint/pieces.h"

namespace orch::checkpoint {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;
// This many take a few hundred MiB; without a limit a tiny file could request any number.
constexpr std::size_t kMostSegments = std::size_t{1} << 23;

TensorPiece box_of(TensorPiece piece) {
  piece.begin = 0;
  piece.end = count(piece.sizes);
  return piece;
}

// A string that identifies a box.
std::string key_of(const TensorPiece& piece) {
  auto key = piece.name + '\0' + std::to_string(static_cast<int>(piece.dtype));
  for (const auto* numbers : {&piece.shape, &piece.offsets, &piece.sizes})
    for (const auto number : *numbers) key += ',' + std::to_string(number);
  return key;
}

constexpr const char* kOverlap = "two pieces of it overlap";

Error bad(const PlacedBox& box, std::string fact) {
  return {printable(box.piece.name), std::move(fact), ""};
}

// The number of bytes of each box that are covered by segments, which are sorted by their
// beginnings. A sweep: segments do not overlap, so all of them together touch hardly more boxes
// than there are.
Result<std::vector<std::int64_t>> covered_bytes(const std::vector<PlacedBox>& boxes,
                                                const std::vector<ShardSegment>& segments) {
  std::vector<std::int64_t> covered(boxes.size());
  std::size_t box = 0;
  std::int64_t before = 0;
  for (const auto& segment : segments) {
    while (boxes[box].end <= segment.begin) ++box;
    if (segment.begin < before) return bad(boxes[box], kOverlap);
    before = segment.end;
    for (auto i = box; i < boxes.size() && boxes[i].begin < segment.end; ++i) {
      const auto low = std::max(boxes[i].begin, segment.begin);
      const auto high = std::min(boxes[i].end, segment.end);
      const auto size = static_cast<std::int64_t>(bytes_of(boxes[i].piece.dtype));
      if ((low - boxes[i].begin) % size != 0 || (high - boxes[i].begin) % size != 0)
        return bad(boxes[i], "a piece of it ends inside an element");
      covered[i] += high - low;
    }
  }
  return covered;
}

// Checks that the boxes of a tensor cover it exactly once, by comparing sums of weights: those of
// all boxes with that of the tensor. An element's weight is a product of random numbers, one for
// each dim: then a box's weight is a product over dims of (sum up to its end - sum up to its
// offset), and any random function of the position can serve as the sum. The cost is linear in the
// number of boxes, whatever their arrangement; modulo a prime, two different coverings have the
// same sum with a probability of one in a thousand million.
constexpr std::uint64_t kPrime = 2147483647;

std::uint64_t weight(const std::vector<std::int64_t>& offsets,
                     const std::vector<std::int64_t>& sizes) {
  std::uint64_t product = 1;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    const auto sum_up_to = [&](std::int64_t place) {
      return counter_random::bits(counter_random::mix(dim), static_cast<std::uint64_t>(place)) %
             kPrime;
    };
    const auto end = sum_up_to(offsets[dim] + sizes[dim]);
    product = product * (end + kPrime - sum_up_to(offsets[dim])) % kPrime;
  }
  return product;
}

Status check_tensor(const std::vector<PlacedBox>& boxes, std::int64_t covered) {
  const auto& first = boxes.front().piece;
  std::int64_t together = 0;
  std::uint64_t weights = 0;
  for (const auto& box : boxes) {
    if (box.piece.shape != first.shape)
      return bad(box, "was saved with the shapes " + shape_text(first.shape) + " and " +
                          shape_text(box.piece.shape));
    if (box.piece.dtype != first.dtype) return bad(box, "was saved with several types");
    together += elements(box.piece);
    weights = (weights + weight(box.piece.offsets, box.piece.sizes)) % kPrime;
  }
  const auto all = count(first.shape);
  if (together > all) return bad(boxes.front(), kOverlap);
  if (covered != all)
    return bad(boxes.front(), "only " + std::to_string(covered) + " of its " + std::to_string(all) +
                                  " elements were saved");
  const std::vector<std::int64_t> origin(first.shape.size(), 0);
  if (weights != weight(origin, first.shape)) return bad(boxes.front(), kOverlap);
  return {};
}

}  // namespace

Status Concatenation::add(std::size_t rank, const TensorPiece& piece) {
  const auto found = by_key_.find(key_of(piece));
  const auto index = found == by_key_.end() ? boxes_.size() : found->second;
  if (found == by_key_.end())
    if (auto status = add_box(box_of(piece)); !status) return status;
  if (elements(piece) == 0) return {};
  const auto size = static_cast<std::int64_t>(bytes_of(piece.dtype));
  return add_segments(rank, {boxes_[index].begin + piece.begin * size, elements(piece) * size});
}

Status Concatenation::add_box(const TensorPiece& box) {
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
    if (__builtin_add_overflow(row.begin, row.stride, &row.begin))
      row.begin = -1;  // beyond the end
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

Result<TensorIndex> TensorIndex::make(const Concatenation& state) {
  TensorIndex index;
  index.segments_ = state.segments();
  std::sort(index.segments_.begin(), index.segments_.end(),
            [](const ShardSegment& a, const ShardSegment& b) { return a.begin < b.begin; });
  const auto covered = covered_bytes(state.boxes(), index.segments_);
  if (!covered) return covered.error();
  std::map<std::string, std::int64_t> elements_of;
  for (std::size_t i = 0; i < covered->size(); ++i) {
    const auto& box = state.boxes()[i];
    index.tensors_[box.piece.name].push_back(box);
    elements_of[box.piece.name] +=
        (*covered)[i] / static_cast<std::int64_t>(bytes_of(box.piece.dtype));
  }
  for (const auto& [name, boxes] : index.tensors_)
    if (auto status = check_tensor(boxes, elements_of[name]); !status) return status.error();
  return index;
}

std::span<const ShardSegment> TensorIndex::segments(const PlacedBox& box) const {
  const auto begin =
      std::partition_point(segments_.begin(), segments_.end(),
                           [&](const ShardSegment& segment) { return segment.end <= box.begin; });
  const auto end = std::partition_point(
      begin, segments_.end(), [&](const ShardSegment& segment) { return segment.begin < box.end; });
  return {begin, end};
}

}  // namespace orch::checkpoint
