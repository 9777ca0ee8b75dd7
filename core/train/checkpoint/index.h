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

// A box of a tensor, and its bytes [begin, end) of the concatenation.
struct PlacedBox {
  Piece piece;  // all of the box
  std::int64_t begin = 0, end = 0;
};

// Bytes [begin, end) of the concatenation that lie together in a rank's file.
struct Segment {
  std::int64_t begin = 0, end = 0;
  std::size_t rank = 0;
  std::int64_t at = 0;  // in the file, after its header
};

// So many of them at equal distances, as the same part of every layer is.
struct SegmentRow {
  std::int64_t begin = 0, bytes = 0;  // of the first; all have as many
  std::int64_t stride = 0;
  std::uint64_t count = 1;
};

// The state of a checkpoint as one row of bytes: every box of every tensor once, one behind the
// other. What a rank has of it are segments, and pieces that lie in a row are one segment. So ranks
// that cut T tensors as one flat buffer make T boxes and a segment each, not T pieces each.
class Concatenation {
 public:
  // The next piece of a rank's file; ranks come one after the other. A box that is new goes to the
  // end: boxes lie as the first ranks that have them do. The piece must be sound (check_piece).
  Status add(std::size_t rank, const Piece& piece);

  // The same in two steps: all boxes, none of them twice; then what the ranks have. Of whatever a
  // file may say: what cannot be is refused, and what would take all memory too.
  Status add_box(const Piece& box);
  Status add_segments(std::size_t rank, SegmentRow row);

  const std::vector<PlacedBox>& boxes() const { return boxes_; }
  const std::vector<Segment>& segments() const { return segments_; }  // by rank, as in their files
  std::int64_t bytes() const { return boxes_.empty() ? 0 : boxes_.back().end; }

 private:
  Status add_segment(std::size_t rank, std::int64_t begin, std::int64_t size);

  std::vector<PlacedBox> boxes_;
  std::unordered_map<std::string, std::size_t> by_key_;
  std::vector<Segment> segments_;
};

// What lies where, of a state that is whole: every element of every tensor is there exactly once.
class Index {
 public:
  // Fails, naming the tensor, where boxes or segments overlap or leave a gap, where a segment ends
  // inside an element, and where a tensor has two shapes or types.
  static Result<Index> make(const Concatenation& state);

  const std::map<std::string, std::vector<PlacedBox>>& tensors() const { return tensors_; }
  // Those with bytes of a box.
  std::span<const Segment> segments(const PlacedBox& box) const;

 private:
  std::map<std::string, std::vector<PlacedBox>> tensors_;
  std::vector<Segment> segments_;  // by begin
};

}  // namespace orch::checkpoint
