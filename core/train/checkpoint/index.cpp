#include "core/train/checkpoint/index.h"

#include <algorithm>

#include "core/base/counter_random.h"
#include "core/base/text.h"
#include "core/train/checkpoint/pieces.h"

namespace orch::checkpoint {
namespace {

constexpr const char* kOverlap = "two pieces of it overlap";

Error bad(const PlacedBox& box, std::string fact) {
  return {printable(box.piece.name), std::move(fact), ""};
}

// Bytes of each box that segments have, these sorted by where they begin. A sweep: as no two
// overlap, all of them together touch hardly more boxes than there are.
Result<std::vector<std::int64_t>> covered_bytes(const std::vector<PlacedBox>& boxes,
                                                const std::vector<Segment>& segments) {
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

// Boxes of a tensor cover it once if the weights of all their elements add up to the tensor's.
// An element's weight is a product of random numbers, one of each dim: then a box's is a product
// over dims of (sum up to its end - sum up to its offset), and any random function of the place
// serves as the sum. That is linear in the boxes, however they lie; modulo a prime two different
// sums are equal by chance once in a thousand million.
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

Result<Index> Index::make(const Concatenation& state) {
  Index index;
  index.segments_ = state.segments();
  std::sort(index.segments_.begin(), index.segments_.end(),
            [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
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

std::span<const Segment> Index::segments(const PlacedBox& box) const {
  const auto begin =
      std::partition_point(segments_.begin(), segments_.end(),
                           [&](const Segment& segment) { return segment.end <= box.begin; });
  const auto end = std::partition_point(
      begin, segments_.end(), [&](const Segment& segment) { return segment.begin < box.end; });
  return {begin, end};
}

}  // namespace orch::checkpoint
