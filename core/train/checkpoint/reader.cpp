#include <algorithm>

#include "core/base/draft.h"
#include "core/base/text.h"
#include "core/train/checkpoint/checkpoint.h"
#include "core/train/checkpoint/dtype.h"
#include "core/train/checkpoint/folders.h"
#include "core/train/checkpoint/index.h"
#include "core/train/checkpoint/manifest.h"
#include "core/train/checkpoint/pieces.h"
#include "core/train/checkpoint/safetensors.h"

namespace orch::checkpoint {
namespace {

constexpr const char* kUseOlder = "use an older checkpoint";

Status check_shard(const fs::path& path, const Shard& shard, bool checksums) {
  const auto wrong = [&](const char* fact) {
    return Error{printable(path.string()), fact, kUseOlder};
  };
  auto file = ShardReader::open(path);
  if (!file) return file.error();
  if (file->bytes() < shard.bytes) return wrong("is shorter than it was written");
  if (file->bytes() > shard.bytes) return wrong("is longer than it was written");
  if (!checksums) return {};
  Checksum sum;
  std::vector<std::byte> chunk(std::min<std::uint64_t>(kChunk, shard.bytes));
  for (std::uint64_t at = 0; at < shard.bytes; at += chunk.size()) {
    chunk.resize(std::min<std::uint64_t>(kChunk, shard.bytes - at));
    if (auto status = file->read(at, chunk); !status) return status;
    sum.add(chunk);
  }
  if (sum.value() != shard.checksum) return wrong("is damaged: the checksum differs");
  return {};
}

bool try_open(const fs::path& path, LatestCheckpoint& latest) {
  auto reader = CheckpointReader::open(path);
  if (!reader) {
    const auto& why = reader.error();
    latest.skipped.insert(latest.skipped.end(), why.begin(), why.end());
    return false;
  }
  latest.reader.emplace(std::move(*reader));
  latest.path = path;
  return true;
}

}  // namespace

const std::vector<PlacedBox>* CheckpointReader::boxes(const std::string& name) const {
  const auto found = index_.tensors().find(name);
  return found == index_.tensors().end() ? nullptr : &found->second;
}

Status CheckpointReader::check_wanted(const TensorPiece& wanted, std::size_t bytes) const {
  const auto bad = [&](std::string fact, std::string fix) {
    return Error{printable(folder_.string()), printable(wanted.name) + ": " + fact, fix};
  };
  if (auto status = check_piece(wanted); !status) return status;
  const auto* there = boxes(wanted.name);
  if (!there) return bad("not in this checkpoint", "check that the model is the same");
  const auto& saved = there->front().piece;
  if (saved.shape != wanted.shape)
    return bad("saved as " + shape_text(saved.shape) + ", wanted as " + shape_text(wanted.shape),
               "check that the model is the same");
  if (!is_convertible(saved.dtype, wanted.dtype))
    return bad("saved as " + std::string(name(saved.dtype)) + ", wanted as " +
                   std::string(name(wanted.dtype)),
               "");
  ORCH_CHECK(bytes == static_cast<std::size_t>(elements(wanted)) * bytes_of(wanted.dtype),
             "room for exactly the piece that is wanted");
  return {};
}

// Reads the part of a box that is in a segment.
Status CheckpointReader::read_from(const PlacedBox& box, const ShardSegment& segment,
                                   const TensorPiece& wanted, std::span<std::byte> to) const {
  Status status;
  std::optional<ShardReader> file;  // opened only if there is something to read
  std::vector<std::byte> converted;
  const auto from_type = box.piece.dtype;
  const auto from_bytes = bytes_of(from_type), to_bytes = bytes_of(wanted.dtype);
  const auto low = std::max(box.begin, segment.begin), high = std::min(box.end, segment.end);
  const auto first =
      data_begin_[segment.rank] + static_cast<std::uint64_t>(segment.at + low - segment.begin);
  auto part = box.piece;
  part.begin = (low - box.begin) / static_cast<std::int64_t>(from_bytes);
  part.end = (high - box.begin) / static_cast<std::int64_t>(from_bytes);
  const auto open = [&] {
    if (file) return true;
    auto opened = ShardReader::open(folder_ / shard_name(segment.rank));
    if (!opened) status = opened.error();
    if (opened) file.emplace(std::move(*opened));
    return file.has_value();
  };
  for_each_run(part, wanted, [&](ElementRun run) {
    if (!status || !open()) return;
    const auto at = first + static_cast<std::uint64_t>(run.at_a) * from_bytes;
    auto target = to.subspan(static_cast<std::size_t>(run.at_b) * to_bytes,
                             static_cast<std::size_t>(run.count) * to_bytes);
    if (from_type == wanted.dtype) {
      status = file->read(at, target);
      return;
    }
    for (std::size_t done = 0; status && !target.empty();) {
      const auto some = std::min(target.size() / to_bytes, kChunk / from_bytes);
      converted.resize(some * from_bytes);
      status = file->read(at + done * from_bytes, converted);
      if (status) convert(from_type, converted, wanted.dtype, target.first(some * to_bytes));
      target = target.subspan(some * to_bytes);
      done += some;
    }
  });
  return status;
}

Status CheckpointReader::read(const TensorPiece& wanted, std::span<std::byte> to) const {
  if (auto status = check_wanted(wanted, to.size()); !status) return status;
  for (const auto& box : *boxes(wanted.name))
    for (const auto& segment : index_.segments(box))
      if (auto status = read_from(box, segment, wanted, to); !status) return status;
  return {};
}

Result<CheckpointReader> CheckpointReader::open(const fs::path& checkpoint, bool checksums) {
  const auto file = checkpoint / "checkpoint.json";
  const auto text = read_file(file);
  if (!text) return text.error();
  auto manifest = parse_checkpoint_json(*text, file.string());
  if (!manifest) return manifest.error();
  auto index = TensorIndex::make(manifest->state);
  if (!index) return Error{printable(checkpoint.string()), orch::text(index.error()), kUseOlder};
  CheckpointReader reader;
  for (std::size_t rank = 0; rank < manifest->shards.size(); ++rank) {
    const auto& shard = manifest->shards[rank];
    if (auto status = check_shard(checkpoint / shard_name(rank), shard, checksums); !status)
      return status.error();
    reader.data_begin_.push_back(shard.data_begin);
  }
  reader.folder_ = checkpoint;
  reader.facts_ = std::move(manifest->facts);
  reader.index_ = std::move(*index);
  return reader;
}

const TensorPiece* CheckpointReader::find(const std::string& name) const {
  const auto* there = boxes(name);
  return there ? &there->front().piece : nullptr;
}

std::vector<std::string> CheckpointReader::names() const {
  std::vector<std::string> names;
  for (const auto& [name, boxes] : index_.tensors()) names.push_back(name);
  return names;
}

LatestCheckpoint open_latest(const fs::path& folder) {
  LatestCheckpoint latest;
  if (auto there = entries_if_there(folder); !there) {  // a missing folder is not an empty one
    latest.skipped = there.error();
    return latest;
  }
  for (const auto& path : list(folder))
    if (try_open(path, latest)) break;
  return latest;
}

LatestCheckpoint open_at(const fs::path& place, std::optional<std::int64_t> step) {
  std::error_code code;
  if (fs::exists(place / "checkpoint.json", code)) {
    LatestCheckpoint latest;
    if (try_open(place, latest) && step && latest.reader->facts().step != *step) {
      latest.skipped.push_back({printable(place.string()),
                                "is of step " + std::to_string(latest.reader->facts().step), ""});
      latest.reader.reset();
    }
    return latest;
  }
  const auto folder = fs::is_directory(place / "checkpoints", code) ? place / "checkpoints" : place;
  if (!step) return open_latest(folder);
  LatestCheckpoint latest;
  for (const auto& path : list(folder))
    if (parse_folder_name(path.filename().string())->step == *step && try_open(path, latest)) break;
  return latest;
}

}  // namespace orch::checkpoint
