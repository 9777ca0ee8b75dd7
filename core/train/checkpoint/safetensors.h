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

// What is read or written at once: it stays in the cache while it is summed up, and one call is
// cheap.
inline constexpr std::size_t kChunk = std::size_t{1} << 20;

// A safetensors file: the length of the header, the header in JSON, and the tensors without gaps.
struct TensorEntry {
  std::string name;
  std::string dtype;  // as the file spells it; it may be one that we do not know
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes, from where the data begin
};

struct SafetensorsHeader {
  std::uint64_t data_begin = 0;  // bytes before the tensors
  std::vector<TensorEntry> tensors;
};

// Checks that every tensor lies in the file and has the bytes of its shape.
Result<SafetensorsHeader> read_safetensors_header(const fs::path& path);

// The bytes before the tensors, which must come in this order.
std::string safetensors_header(std::span<const TensorEntry> tensors,
                               const std::map<std::string, std::string>& metadata);

// Writes a file beside its place, sums it up on the way, syncs and renames it.
class ShardWriter {
 public:
  // Asks for the space at once: a full disk is known before anything is written.
  static Result<ShardWriter> create(const fs::path& path, std::uint64_t bytes);

  Status append(std::span<const std::byte> data);
  Status finish();  // must have got all bytes; without it nothing is left behind
  std::uint64_t checksum() const { return sum_.value(); }

 private:
  explicit ShardWriter(DraftFile draft) : draft_(std::move(draft)) {}

  DraftFile draft_;
  std::uint64_t written_ = 0;
  std::uint64_t asked_to_disk_ = 0;
  Checksum sum_;
};

// Reads parts of one file, in any order and of any size; near ones with one call.
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
