#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/draft.h"
#include "core/base/files.h"
#include "core/base/result.h"
#include "core/train/checkpoint/checkpoint.h"
#include "core/train/checkpoint/checksum.h"

namespace orch::checkpoint {

// Bytes per read or write: they stay in the cache while the checksum is computed, and the cost of
// the call is negligible.
inline constexpr std::size_t kChunk = std::size_t{1} << 20;

// A safetensors file: the length of the header, the header in JSON, and the tensors without gaps.
struct TensorEntry {
  std::string name;
  std::string dtype;  // as in the file; may be unknown to us
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes, relative to the start of the data
};

struct SafetensorsHeader {
  std::uint64_t data_begin = 0;  // size of everything before the tensors
  std::vector<TensorEntry> tensors;
};

// Checks that every tensor is inside the file and has the bytes of its shape.
Result<SafetensorsHeader> read_safetensors_header(const fs::path& path);

// The bytes before the tensors, which must be in this order.
std::string safetensors_header(std::span<const TensorEntry> tensors,
                               const std::map<std::string, std::string>& metadata);

// Writes a file beside its final path and computes its checksum meanwhile; syncs and renames it.
class ShardWriter {
 public:
  // Allocates the space at once: a full disk is detected before anything is written.
  static Result<ShardWriter> create(const fs::path& path, std::uint64_t bytes);

  Status append(std::span<const std::byte> data);
  Status finish();  // all bytes must have been written; without this call nothing is left behind
  std::uint64_t checksum() const { return sum_.value(); }

 private:
  explicit ShardWriter(DraftFile draft) : draft_(std::move(draft)) {}

  DraftFile draft_;
  std::uint64_t written_ = 0;
  std::uint64_t asked_to_disk_ = 0;
  Checksum sum_;
};

// Reads parts of a file, in any order and of any size; adjacent ones with one call.
class ShardReader {
 public:
  static Result<ShardReader> open(const fs::path& path);

  std::uint64_t bytes() const { return bytes_; }
  Status read(std::uint64_t at, std::span<std::byte> to);

 private:
  ShardReader(fs::path path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  Status fetch(std::uint64_t at, std::span<std::byte> to) const;

  fs::path path_;
  Descriptor file_;
  std::uint64_t bytes_ = 0;
  std::vector<std::byte> window_;
  std::uint64_t window_at_ = 0;
};

}  // namespace orch::checkpoint
