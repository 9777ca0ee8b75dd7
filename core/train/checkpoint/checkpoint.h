#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/train/checkpoint/index.h"

namespace orch::checkpoint {

// checkpoints/step-00000050/
//   rank-0.safetensors   each rank's pieces; readable with any safetensors library
//   checkpoint.json      facts, every tensor once, and for each shard its content, its size and its
//                        checksum
// While it is being written, the folder's name ends in .writing, and a rank-k.json tells rank 0
// that
// a shard is complete; rank 0 merges these and renames the folder. A folder without a complete
// checkpoint.json is not a checkpoint.

// Bytes that stay in place while the owner lives.
struct SharedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

struct SavedPiece {
  TensorPiece piece;
  std::vector<std::byte> data;             // (end - begin) elements; or, if they are elsewhere:
  std::function<SharedBytes()> read = {};  // returns them when they are written
};

// A rank's share of a checkpoint to be written.
struct SavedState {
  std::vector<SavedPiece> pieces;
  bool reads = false;  // true: some piece has `read`, whose source must stay until it is written
};

// What a checkpoint records about the whole run.
struct CheckpointFacts {
  std::int64_t step = 0;              // the last one done
  std::int64_t consumed_samples = 0;  // the position in the data
  std::int64_t seed = 0;              // with the step, the whole state of random numbers
  int ranks = 1;
  std::map<std::string, double> numbers;     // "loss_scale", "tokens", ...
  std::map<std::string, std::string> texts;  // "family", "model" (as JSON), "strategy", ...
};

// Writes one rank's share into <folder>/step-<n>.<attempt>.writing/; rank 0 waits there for the
// others, completes and renames it. Throws nothing; safe on any thread. After a failure rank 0
// leaves nothing behind, and existing checkpoints are unchanged. SIGXFSZ must be ignored under a
// ulimit -f. The other ranks return when their share is written: only rank 0 knows if the whole is
// complete.
struct WriteOptions {
  int rank = 0;
  // A string that is the same on all ranks and different each time they are started: so files of a
  // killed attempt are never taken for this one's. May be empty for a single rank.
  std::string attempt;
  double wait_seconds = 600;
  std::function<bool()> give_up;  // called while rank 0 waits; true stops it; may be empty
  std::int64_t keep = 2;          // number to keep; older ones are removed; 0: all
};
Status write(const fs::path& folder, const CheckpointFacts& facts, const SavedState& saved,
             const WriteOptions& options);

// One checkpoint, opened and checked.
class CheckpointReader {
 public:
  // checksums: read every byte once. Fails with the reason if anything is incomplete or corrupt.
  static Result<CheckpointReader> open(const fs::path& checkpoint, bool checksums = true);

  const CheckpointFacts& facts() const { return facts_; }
  std::vector<std::string> names() const;
  bool has(const std::string& name) const { return boxes(name) != nullptr; }
  const TensorPiece* find(const std::string& name) const;  // any of its boxes; null: no such tensor

  // Fills `to` with the requested piece, gathered from the saved pieces; converts between floating
  // types. Errors name the tensor, and both shapes if they differ.
  Status read(const TensorPiece& wanted, std::span<std::byte> to) const;

 private:
  CheckpointReader() = default;
  const std::vector<PlacedBox>* boxes(const std::string& name) const;  // null: no such tensor
  Status check_wanted(const TensorPiece& wanted, std::size_t bytes) const;
  Status read_from(const PlacedBox& box, const ShardSegment& segment, const TensorPiece& wanted,
                   std::span<std::byte> to) const;

  fs::path folder_;
  CheckpointFacts facts_;
  std::vector<std::uint64_t> data_begin_;  // by rank: size of its file's header
  TensorIndex index_;
};

// Complete checkpoints below a folder, newest first, by their names alone.
std::vector<fs::path> list(const fs::path& folder);

// The newest valid checkpoint. Invalid ones are listed in `skipped` with the reason; so is a folder
// that cannot be listed. If there is neither a reader nor anything skipped, there is no checkpoint.
struct LatestCheckpoint {
  std::optional<CheckpointReader> reader;
  fs::path path;
  std::vector<Error> skipped;
};
LatestCheckpoint open_latest(const fs::path& folder);

// The same for a user's path: a checkpoint, a folder of them, or a run folder; optionally only a
// given step.
LatestCheckpoint open_at(const fs::path& place, std::optional<std::int64_t> step = {});

}  // namespace orch::checkpoint
