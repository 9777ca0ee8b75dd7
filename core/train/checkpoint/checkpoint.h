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
//   checkpoint.json      facts, every tensor once, and what each shard has of them, its size and
//                        checksum
// While it is being written its name ends in .writing, and a rank-k.json tells rank 0 of each shard
// that is whole; rank 0 puts them together and renames the folder.
// A folder without a whole checkpoint.json is no checkpoint.

// Bytes that stay where they are while the owner lives.
struct SharedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

struct SavedPiece {
  Piece piece;
  std::vector<std::byte> data;             // (end - begin) elements; or, where they lie elsewhere:
  std::function<SharedBytes()> read = {};  // the same, when it is written
};

// What a rank gives to be written.
struct Saved {
  std::vector<SavedPiece> pieces;
  bool reads = false;  // some piece does: what it reads must stay until it is written
};

// What a checkpoint says of the whole run.
struct Facts {
  std::int64_t step = 0;              // the last one done
  std::int64_t consumed_samples = 0;  // the data position
  std::int64_t seed = 0;              // with the step all there is to know of random numbers
  int ranks = 1;
  std::map<std::string, double> numbers;     // "loss_scale", "tokens", ...
  std::map<std::string, std::string> texts;  // "family", "model" (as JSON), "strategy", ...
};

// Writes one rank's share into <folder>/step-<n>.<attempt>.writing/; rank 0 waits there for the
// others, completes and renames. Throws nothing; safe on any thread. After a failure nothing is
// left behind by rank 0, and what was there is as it was. Needs SIGXFSZ to be ignored under a
// ulimit -f. The others return when their share is written: only rank 0 knows of the whole.
struct WriteOptions {
  int rank = 0;
  // The same text on all ranks, and another one each time they are started: what a killed try left
  // behind is then never taken for this one's. May be empty for a single rank.
  std::string attempt;
  double wait_seconds = 600;
  std::function<bool()> give_up;  // asked while rank 0 waits; may be empty
  std::int64_t keep = 2;          // older ones are removed once this one is complete; 0: keep all
};
Status write(const fs::path& folder, const Facts& facts, const Saved& saved,
             const WriteOptions& options);

// One checkpoint, opened and checked.
class Reader {
 public:
  // checksums: read every byte once. Fails, saying what is wrong, if anything is torn or corrupt.
  static Result<Reader> open(const fs::path& checkpoint, bool checksums = true);

  const Facts& facts() const { return facts_; }
  std::vector<std::string> names() const;
  bool has(const std::string& name) const { return boxes(name) != nullptr; }
  const Piece* find(const std::string& name) const;  // any box of it; null: none

  // Fills `to` with the piece wanted, gathered from whatever pieces were saved; converts between
  // floating types. Errors name the tensor, and both shapes if they differ.
  Status read(const Piece& wanted, std::span<std::byte> to) const;

 private:
  Reader() = default;
  const std::vector<PlacedBox>* boxes(const std::string& name) const;  // null: none
  Status check_wanted(const Piece& wanted, std::size_t bytes) const;
  Status read_from(const PlacedBox& box, const Segment& segment, const Piece& wanted,
                   std::span<std::byte> to) const;

  fs::path folder_;
  Facts facts_;
  std::vector<std::uint64_t> data_begin_;  // by rank: bytes of its file's header
  Index index_;
};

// Whole checkpoints below a folder, newest first, by their names alone.
std::vector<fs::path> list(const fs::path& folder);

// The newest one that is sound. Those that are not are named in `skipped`, with the reason; so is a
// folder that cannot be listed. Neither a reader nor anything skipped: there is no checkpoint.
struct Latest {
  std::optional<Reader> reader;
  fs::path path;
  std::vector<Error> skipped;
};
Latest open_latest(const fs::path& folder);

// The same for what people name: a checkpoint, a folder of them, or a run folder; a given step
// only.
Latest open_at(const fs::path& place, std::optional<std::int64_t> step = {});

}  // namespace orch::checkpoint
