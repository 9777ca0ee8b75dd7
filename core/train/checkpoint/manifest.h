#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/train/checkpoint/checkpoint.h"
#include "core/train/checkpoint/index.h"

namespace orch::checkpoint {

// A file of a checkpoint: a header, then a rank's pieces without gaps.
struct Shard {
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
  std::uint64_t data_begin = 0;  // bytes of the header
};
std::string shard_name(std::size_t rank);  // "rank-0.safetensors"

// A rank's note to rank 0, rank-k.json. attempt and step tell it from one that a killed try left
// behind.
struct RankNote {
  std::string attempt;
  std::int64_t step = 0;
  std::size_t rank = 0;
  Shard shard;
  std::vector<Piece> pieces;  // in the file's order
};
std::string rank_json(const RankNote& note);
Result<RankNote> parse_rank_json(const std::string& text, const std::string& place);

// checkpoint.json. Like the notes it ends with a checksum of itself. Its size grows with tensors
// plus ranks, not with their product:
//   "tensors": a box each, in the order of the concatenation: [name, type, shape], and, if it is
//              not all of the tensor, [..., offsets, sizes]
//   "shards":  of each rank, with "segments" of the concatenation, in bytes: [begin, bytes], or
//              [begin, bytes, stride, count] for so many at equal distances, as the same part of
//              every layer is
struct Manifest {
  Facts facts;
  std::vector<Shard> shards;  // by rank
  Concatenation state;

  // The next rank's.
  Status add(const Shard& shard, std::span<const Piece> pieces);
};
std::string checkpoint_json(const Manifest& manifest);
Result<Manifest> parse_checkpoint_json(const std::string& text, const std::string& place);

}  // namespace orch::checkpoint
