#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/dtype.h"
#include "core/checkpoint/manifest.h"
#include "core/checkpoint/pieces.h"
#include "core/checkpoint/safetensors.h"

namespace orch::checkpoint {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr const char* kUseOlder = "use an older checkpoint";

// Where a piece lies.
struct Place {
  const Piece* piece;
  std::size_t shard;
  std::uint64_t at;  // bytes from the beginning of the file
};

Status check_shard(const fs::path& folder, const Shard& shard, bool checksums) {
  const auto path = folder / shard.file;
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
  if (sum.value() != shard.checksum) return wrong("was changed: its checksum is another");
  return {};
}

}  // namespace

class Reader::Impl {
 public:
  Impl(fs::path folder, Manifest manifest);

  Status check(bool checksums) const;
  Status read(const Piece& wanted, std::span<std::byte> to) const;
  const std::vector<Place>* places(const std::string& name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? nullptr : &found->second;
  }

  fs::path folder_;
  Manifest manifest_;
  std::vector<Piece> pieces_;
  std::map<std::string, std::vector<Place>> places_;

 private:
  Status check_wanted(const Piece& wanted, std::size_t bytes) const;
  Status read_from(const Place& place, const Piece& wanted, std::span<std::byte> to) const;
};

Reader::Impl::Impl(fs::path folder, Manifest manifest)
    : folder_(std::move(folder)), manifest_(std::move(manifest)) {
  for (const auto& shard : manifest_.shards)
    pieces_.insert(pieces_.end(), shard.pieces.begin(), shard.pieces.end());
  const auto* piece = pieces_.data();
  for (std::size_t i = 0; i < manifest_.shards.size(); ++i) {
    auto at = manifest_.shards[i].data_begin;
    for (std::size_t k = 0; k < manifest_.shards[i].pieces.size(); ++k, ++piece) {
      places_[piece->name].push_back({piece, i, at});
      at += static_cast<std::uint64_t>(elements(*piece)) * bytes_of(piece->dtype);
    }
  }
}

Status Reader::Impl::check(bool checksums) const {
  if (manifest_.shards.size() != static_cast<std::size_t>(manifest_.facts.ranks))
    return Error{printable(folder_.string()), "has not as many shards as ranks", kUseOlder};
  for (const auto& [name, places] : places_) {
    std::vector<const Piece*> pieces;
    for (const auto& place : places) pieces.push_back(place.piece);
    if (auto status = check_cover(pieces); !status)
      return Error{printable(folder_.string()), text(status.error()), kUseOlder};
  }
  for (const auto& shard : manifest_.shards)
    if (auto status = check_shard(folder_, shard, checksums); !status) return status;
  return {};
}

Status Reader::Impl::check_wanted(const Piece& wanted, std::size_t bytes) const {
  const auto bad = [&](std::string fact, std::string fix) {
    return Error{printable(folder_.string()), printable(wanted.name) + ": " + fact, fix};
  };
  if (auto status = check_piece(wanted); !status) return status;
  const auto* there = places(wanted.name);
  if (!there) return bad("not in this checkpoint", "check that it is of the same model");
  const auto& saved = *there->front().piece;
  if (saved.shape != wanted.shape)
    return bad("saved as " + shape_text(saved.shape) + ", wanted as " + shape_text(wanted.shape),
               "check that it is of the same model");
  if (!is_convertible(saved.dtype, wanted.dtype))
    return bad("saved as " + std::string(name(saved.dtype)) + ", wanted as " +
                   std::string(name(wanted.dtype)),
               "");
  ORCH_CHECK(bytes == static_cast<std::size_t>(elements(wanted)) * bytes_of(wanted.dtype),
             "room for exactly the piece that is wanted");
  return {};
}

Status Reader::Impl::read_from(const Place& place, const Piece& wanted,
                               std::span<std::byte> to) const {
  Status status;
  std::optional<ShardReader> file;  // opened if there is something to read
  std::vector<std::byte> converted;
  const auto from_type = place.piece->dtype;
  const auto from_bytes = bytes_of(from_type), to_bytes = bytes_of(wanted.dtype);
  const auto open = [&] {
    if (file) return true;
    auto opened = ShardReader::open(folder_ / manifest_.shards[place.shard].file);
    if (!opened) status = opened.error();
    if (opened) file.emplace(std::move(*opened));
    return file.has_value();
  };
  for_each_run(*place.piece, wanted, [&](Run run) {
    if (!status || !open()) return;
    const auto at = place.at + static_cast<std::uint64_t>(run.at_a) * from_bytes;
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

Status Reader::Impl::read(const Piece& wanted, std::span<std::byte> to) const {
  if (auto status = check_wanted(wanted, to.size()); !status) return status;
  for (const auto& place : *places(wanted.name))
    if (auto status = read_from(place, wanted, to); !status) return status;
  return {};
}

Reader::Reader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

Result<Reader> Reader::open(const fs::path& checkpoint, bool checksums) {
  const auto file = checkpoint / "checkpoint.json";
  const auto text = read_file(file);
  if (!text) return text.error();
  auto manifest = parse_checkpoint_json(*text, file.string());
  if (!manifest) return manifest.error();
  auto impl = std::make_unique<Impl>(checkpoint, std::move(*manifest));
  if (auto status = impl->check(checksums); !status) return status.error();
  return Reader(std::move(impl));
}

const Facts& Reader::facts() const { return impl_->manifest_.facts; }
const std::vector<Piece>& Reader::pieces() const { return impl_->pieces_; }
bool Reader::has(const std::string& name) const { return impl_->places(name) != nullptr; }

const Piece* Reader::find(const std::string& name) const {
  const auto* places = impl_->places(name);
  return places ? places->front().piece : nullptr;
}

std::vector<std::string> Reader::names() const {
  std::vector<std::string> names;
  for (const auto& [name, places] : impl_->places_) names.push_back(name);
  return names;
}

Status Reader::read(const Piece& wanted, std::span<std::byte> to) const {
  return impl_->read(wanted, to);
}

}  // namespace orch::checkpoint
