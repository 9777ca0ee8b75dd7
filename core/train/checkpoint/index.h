#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/train/checkpoint/pieces.h"

namespace orch::checkpoint {

// A box of a tensor, and its position [begin, end) in bytes in the concatenation.
struct PlacedBox {
  TensorPiece piece;  // the whole box
  std::int64_t begin = 0, end = 0;
};

// Bytes [begin, end) of the concatenation that are contiguous in a rank's file.
struct ShardSegment {
  std::int64_t begin = 0, end = 0;
  std::size_t rank = 0;
  std::int64_t at = 0;  // position in the file, after its header
};

// `count` segments at equal distances, such as the same part of every layer.
struct SegmentRow {
  std::int64_t begin = 0, bytes = 0;  // of the first one; all have the same length
  std::int64_t stride = 0;
  std::uint64_t count = 1;
};

// The state of a checkpoint as one sequence of bytes: every box of every tensor once, one after the
// other. A rank's share consists of segments; pieces that are adjacent form one segment. So ranks
// that cut T tensors as one flat buffer have T boxes together and one segment each, not T pieces
// each.
class Concatenation {
 public:
  // Adds the next piece of a rank's file; ranks come one after the other. A new box is appended: so
  // the order of boxes is that of the first ranks that have them. The piece must be valid
  // (check_piece).
  Status add(std::size_t rank, const TensorPiece& piece);

  // The same in two steps, for untrusted files: first all boxes, each once; then the ranks'
  // segments. Impossible values are refused, and so are those that would exhaust memory.
  Status add_box(const TensorPiece& box);
  Status add_segments(std::size_t rank, SegmentRow row);

  const std::vector<PlacedBox>& boxes() const { return boxes_; }
  const std::vector<ShardSegment>& segments() const {
    return segments_;
  }  // by rank, as in their files
  std::int64_t bytes() const { return boxes_.empty() ? 0 : boxes_.back().end; }

 private:
  Status add_segment(std::size_t rank, std::int64_t begin, std::int64_t size);

  std::vector<PlacedBox> boxes_;
  std::unordered_map<std::string, std::size_t> by_key_;
  std::vector<ShardSegment> segments_;
};

// The positions of a complete state: every element of every tensor exists exactly once.
class TensorIndex {
 public:
  // Fails, naming the tensor, if boxes or segments overlap or leave a gap, if a segment ends inside
  // an element, or if a tensor has two shapes or types.
  static Result<TensorIndex> make(const Concatenation& state);

  const std::map<std::string, std::vector<PlacedBox>>& tensors() const { return tensors_; }
  // The segments that contain bytes of a box.
  std::span<const ShardSegment> segments(const PlacedBox& box) const;

 private:
  std::map<std::string, std::vector<PlacedBox>> tensors_;
  std::vector<ShardSegment> segments_;  // sorted by begin
};

}  // namespace orch::checkpoint
