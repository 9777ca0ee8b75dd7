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
  std::uint64_t data_begin = 0;  // size of the header
};
std::string shard_name(std::size_t rank);  // "rank-0.safetensors"

// A rank's note to rank 0, rank-k.json. attempt and step distinguish it from a note that a killed
// attempt left.
struct RankNote {
  std::string attempt;
  std::int64_t step = 0;
  std::size_t rank = 0;
  Shard shard;
  std::vector<TensorPiece> pieces;  // in the file's order
};
std::string rank_json(const RankNote& note);
Result<RankNote> parse_rank_json(const std::string& text, const std::string& place);

// checkpoint.json. Like the notes it ends with a checksum of itself. Its size grows with tensors
// plus ranks, not with their product:
//   "tensors": one entry per box, in the order of the concatenation: [name, type, shape], and, if
//   it
//              is not the whole tensor, [..., offsets, sizes]
//   "shards":  one entry per rank, with "segments" of the concatenation, in bytes: [begin, bytes],
//              or [begin, bytes, stride, count] for `count` of them at equal distances, such as the
//              same part of every layer
struct Manifest {
  CheckpointFacts facts;
  std::vector<Shard> shards;  // by rank
  Concatenation state;

  // Adds the next rank.
  Status add(const Shard& shard, std::span<const TensorPiece> pieces);
};
std::string checkpoint_json(const Manifest& manifest);
Result<Manifest> parse_checkpoint_json(const std::string& text, const std::string& place);

}  // namespace orch::checkpoint
