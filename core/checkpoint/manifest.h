#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/checkpoint/checkpoint.h"

namespace orch::checkpoint {

// One file of a checkpoint: rank-k.json tells of it while the checkpoint is being written,
// checkpoint.json afterwards. Both end with a checksum of themselves.
struct Shard {
  std::string file;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
  std::uint64_t data_begin = 0;  // the first piece; the others follow without gaps
  std::vector<Piece> pieces;
};

// A rank's note to rank 0. attempt and step tell it from one that a killed try left behind.
struct RankNote {
  std::string attempt;
  std::int64_t step = 0;
  int rank = 0;
  Shard shard;
};
std::string rank_json(const RankNote& note);
Result<RankNote> parse_rank_json(const std::string& text, const std::string& place);

struct Manifest {
  Facts facts;
  std::vector<Shard> shards;  // by rank
};
std::string checkpoint_json(const Manifest& manifest);
Result<Manifest> parse_checkpoint_json(const std::string& text, const std::string& place);

}  // namespace orch::checkpoint
