#include "core/train/data/indexed.h"

#include <bit>
#include <cstring>
#include <limits>

#include "core/base/text.h"

static_assert(std::endian::native == std::endian::little, "the files are little-endian");

namespace orch::data {
namespace {

// Reads an unaligned number: the index has no alignment.
template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

Error damaged(const std::string& file, const std::string& fact) {
  return {printable(file), fact, "build it again, or copy it again from where it came"};
}

// A value that does not fit into 32 bits becomes -1.
template <class T>
void read_as(const std::byte* from, std::span<std::int32_t> to) {
  for (auto& token : to) {
    const auto value = load<T>(from);
    token = static_cast<std::int32_t>(value);
    if constexpr (sizeof(T) > sizeof token)
      if (value < 0 || value > std::numeric_limits<std::int32_t>::max()) token = -1;
    from += sizeof(T);
  }
}

struct IndexedKind {
  TokenDtype dtype;
  std::string_view name;
  std::int64_t bytes;
  void (*read)(const std::byte* from, std::span<std::int32_t> to);
};
constexpr IndexedKind kKinds[] = {{TokenDtype::u8, "uint8", 1, read_as<std::uint8_t>},
                                  {TokenDtype::i8, "int8", 1, read_as<std::int8_t>},
                                  {TokenDtype::i16, "int16", 2, read_as<std::int16_t>},
                                  {TokenDtype::i32, "int32", 4, read_as<std::int32_t>},
                                  {TokenDtype::i64, "int64", 8, read_as<std::int64_t>},
                                  {TokenDtype::u16, "uint16", 2, read_as<std::uint16_t>}};

const IndexedKind* find_kind(TokenDtype dtype) {
  for (const auto& kind : kKinds)
    if (kind.dtype == dtype) return &kind;
  return nullptr;
}

}  // namespace

std::string_view name(TokenDtype dtype) { return find_kind(dtype)->name; }
std::int64_t bytes_of(TokenDtype dtype) { return find_kind(dtype)->bytes; }

TokenDtype dtype_for(std::int64_t vocab) {
  return vocab < 65500 ? TokenDtype::u16 : TokenDtype::i32;
}

std::string bin_path(const std::string& prefix) { return prefix + ".bin"; }
std::string idx_path(const std::string& prefix) { return prefix + ".idx"; }

Result<IndexedFile> IndexedFile::open(const std::string& prefix) {
  IndexedFile file;
  file.prefix_ = prefix;
  auto idx = MappedFile::open(idx_path(prefix));
  if (!idx) return idx.error();
  auto bin = MappedFile::open(bin_path(prefix));
  if (!bin) return bin.error();
  file.idx_ = std::move(*idx);
  file.bin_ = std::move(*bin);
  if (auto status = file.read_header(); !status) return status.error();
  if (auto status = file.check_sequences(); !status) return status.error();
  if (auto status = file.check_documents(); !status) return status.error();
  return file;
}

Status IndexedFile::read_header() {
  const auto place = idx_path(prefix_);
  const auto* data = idx_.data();
  if (!idx_.text().starts_with(kIndexMagic))
    return Error{printable(place), "is not an index of Megatron-LM: it does not begin with MMIDIDX",
                 "name the prefix of a .bin and an .idx file; orch data build makes them"};
  if (idx_.size() < static_cast<std::size_t>(kIndexHeader))
    return damaged(place, "ends within its header");
  if (const auto version = load<std::uint64_t>(data + 9); version != 1)
    return damaged(place, "has version " + std::to_string(version) + ", not 1");
  const auto code = load<std::uint8_t>(data + 17);
  if (!find_kind(TokenDtype{code}))
    return damaged(place, "says that tokens have type " + std::to_string(code) +
                              ", which is not an integer type");
  dtype_ = TokenDtype{code};
  const auto sequences = load<std::uint64_t>(data + 18), entries = load<std::uint64_t>(data + 26);
  const auto bytes = static_cast<std::uint64_t>(idx_.size());
  // Each count is checked alone first: their sum could overflow.
  if (sequences > bytes / 12 || entries > bytes / 8 ||
      kIndexHeader + 12 * sequences + 8 * entries > bytes)
    return damaged(place, "is truncated: " + std::to_string(bytes) + " bytes cannot hold " +
                              std::to_string(sequences) + " sequences and " +
                              std::to_string(entries) + " entries of the document index");
  // A mode for each sequence may follow; text datasets have none.
  const auto rest = bytes - (kIndexHeader + 12 * sequences + 8 * entries);
  if (rest != 0 && rest != sequences)
    return damaged(place, "has " + std::to_string(rest) + " bytes after its end");
  sequences_ = static_cast<std::int64_t>(sequences);
  entries_ = static_cast<std::int64_t>(entries);
  return {};
}

Status IndexedFile::check_sequences() {
  const auto place = idx_path(prefix_);
  const auto bytes = static_cast<std::int64_t>(bin_.size()), each = bytes_of(dtype_);
  for (std::int64_t i = 0; i < sequences_; ++i) {
    const std::int64_t tokens = size(i), at = position(i);
    if (tokens < 0)
      return damaged(
          place, "sequence " + std::to_string(i) + " has " + std::to_string(tokens) + " tokens");
    if (at < 0 || at > bytes || tokens > (bytes - at) / each)
      return damaged(place, "sequence " + std::to_string(i) + " has " + std::to_string(tokens) +
                                " tokens from byte " + std::to_string(at) + ", but " +
                                printable(bin_path(prefix_)) + " has " + std::to_string(bytes) +
                                " bytes");
    tokens_ += tokens;
  }
  return {};
}

Status IndexedFile::check_documents() const {
  const auto place = idx_path(prefix_);
  std::int64_t before = 0;
  for (std::int64_t i = 0; i < entries_; ++i) {
    const auto begin = document_begin(i);
    if (begin < before || begin > sequences_)
      return damaged(place, "entry " + std::to_string(i) + " of the document index is " +
                                std::to_string(begin) + ", after " + std::to_string(before) +
                                " and with " + std::to_string(sequences_) + " sequences");
    before = begin;
  }
  return {};
}

std::int32_t IndexedFile::size(std::int64_t sequence) const {
  return load<std::int32_t>(idx_.data() + kIndexHeader + 4 * sequence);
}

std::int64_t IndexedFile::position(std::int64_t sequence) const {
  return load<std::int64_t>(idx_.data() + kIndexHeader + 4 * sequences_ + 8 * sequence);
}

std::int64_t IndexedFile::document_begin(std::int64_t document) const {
  return load<std::int64_t>(idx_.data() + kIndexHeader + 12 * sequences_ + 8 * document);
}

void IndexedFile::read(std::int64_t sequence, std::int64_t offset,
                       std::span<std::int32_t> to) const {
  ORCH_CHECK(sequence >= 0 && sequence < sequences_ && offset >= 0 &&
                 offset + static_cast<std::int64_t>(to.size()) <= size(sequence),
             "tokens beyond their sequence");
  const auto* from = bin_.data() + position(sequence) + offset * bytes_of(dtype_);
  find_kind(dtype_)->read(from, to);
}

}  // namespace orch::data
