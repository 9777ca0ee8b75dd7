#include "core/train/data/indexed_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

#include "core/base/draft.h"
#include "core/base/text.h"

namespace orch::data {
namespace {

constexpr std::int64_t kLongest = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kBlock = 1 << 16;  // sizes that are read back at a time

bool exists(const std::string& path) {
  std::error_code code;
  return fs::exists(fs::symlink_status(path, code));
}

fs::path folder_of(const std::string& prefix) { return fs::path(prefix).parent_path(); }

}  // namespace

// The sizes go into the index as they come. What follows them can be computed from them, and they
// are read back for it in blocks, so that memory does not grow with the documents.
struct IndexedWriter::Impl {
  std::string prefix;
  Dtype dtype;
  bool replace;
  DraftFile bin;
  DraftFile idx;
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
  std::int64_t in_document = 0;
  std::vector<std::uint16_t> narrow;  // kept for its memory

  Status begin();
  Status write_tokens(std::span<const std::int32_t> from);
  Status write_positions();
  Status write_documents();
  Status write_header();
  Status put_in_place();
};

Status IndexedWriter::Impl::begin() {
  const char blank[kIndexHeader] = {};
  return idx.append(blank, sizeof blank);
}

Status IndexedWriter::Impl::write_tokens(std::span<const std::int32_t> from) {
  if (dtype == Dtype::i32) return bin.append(from.data(), from.size_bytes());
  narrow.resize(from.size());
  std::transform(from.begin(), from.end(), narrow.begin(),
                 [](std::int32_t token) { return static_cast<std::uint16_t>(token); });
  return bin.append(narrow.data(), narrow.size() * sizeof(std::uint16_t));
}

Status IndexedWriter::Impl::write_positions() {
  std::vector<std::int32_t> sizes(kBlock);
  std::vector<std::int64_t> positions(kBlock);
  std::int64_t at = 0;
  for (std::int64_t done = 0; done < documents;) {
    const auto n = std::min<std::size_t>(kBlock, static_cast<std::size_t>(documents - done));
    const auto from = static_cast<std::uint64_t>(kIndexHeader + 4 * done);
    if (auto status = idx.read_at(from, sizes.data(), 4 * n); !status) return status;
    for (std::size_t i = 0; i < n; ++i) {
      positions[i] = at;
      at += sizes[i] * bytes_of(dtype);
    }
    if (auto status = idx.append(positions.data(), 8 * n); !status) return status;
    done += static_cast<std::int64_t>(n);
  }
  return {};
}

// Each document is one sequence: 0, 1, 2, ...
Status IndexedWriter::Impl::write_documents() {
  for (std::int64_t i = 0; i <= documents; ++i)
    if (auto status = idx.append(&i, sizeof i); !status) return status;
  return {};
}

Status IndexedWriter::Impl::write_header() {
  char header[kIndexHeader];
  const std::uint64_t counts[] = {static_cast<std::uint64_t>(documents),
                                  static_cast<std::uint64_t>(documents) + 1};
  const std::uint64_t version = 1;
  std::memcpy(header, kIndexMagic.data(), 9);
  std::memcpy(header + 9, &version, 8);
  header[17] = static_cast<char>(dtype);
  std::memcpy(header + 18, counts, 16);
  return idx.write_at(0, header, sizeof header);
}

// An old index goes first: it must never stand beside tokens that are not its own.
Status IndexedWriter::Impl::put_in_place() {
  if (replace && ::unlink(idx_path(prefix).c_str()) != 0 && errno != ENOENT)
    return file_error(idx_path(prefix), "cannot replace", errno);
  sync_folder(folder_of(prefix));
  if (auto status = bin.publish(); !status) return status;
  sync_folder(folder_of(prefix));
  if (auto status = idx.publish(); !status) return status;
  sync_folder(folder_of(prefix));
  return {};
}

Result<IndexedWriter> IndexedWriter::create(const std::string& prefix, Dtype dtype, bool replace) {
  ORCH_CHECK(dtype == Dtype::u16 || dtype == Dtype::i32, "a type that is never written");
  for (const auto& path : {idx_path(prefix), bin_path(prefix)})
    if (!replace && exists(path))
      return Error{printable(path), "is there already",
                   "name another place, or replace it (--force)"};
  auto idx = DraftFile::create(idx_path(prefix), DraftFile::Name::locked);
  if (!idx) return idx.error();
  auto bin = DraftFile::create(bin_path(prefix), DraftFile::Name::locked);
  if (!bin) return bin.error();
  auto impl = std::unique_ptr<Impl>(
      new Impl{prefix, dtype, replace, std::move(*bin), std::move(*idx), 0, 0, 0, {}});
  if (auto status = impl->begin(); !status) return status.error();
  return IndexedWriter(std::move(impl));
}

IndexedWriter::IndexedWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
IndexedWriter::IndexedWriter(IndexedWriter&&) noexcept = default;
IndexedWriter& IndexedWriter::operator=(IndexedWriter&&) noexcept = default;
IndexedWriter::~IndexedWriter() = default;

Status IndexedWriter::add(std::span<const std::int32_t> tokens) {
  impl_->in_document += static_cast<std::int64_t>(tokens.size());
  if (impl_->in_document > kLongest)
    return Error{printable(impl_->prefix), "a document has more than 2,147,483,647 tokens",
                 "split it: the format has no longer ones"};
  return impl_->write_tokens(tokens);
}

Status IndexedWriter::end_document() {
  const auto size = static_cast<std::int32_t>(impl_->in_document);
  impl_->tokens += size;
  impl_->in_document = 0;
  ++impl_->documents;
  return impl_->idx.append(&size, sizeof size);
}

Status IndexedWriter::finish() {
  ORCH_CHECK(impl_->in_document == 0, "a document was not ended");
  if (auto status = impl_->idx.flush(); !status) return status;
  if (auto status = impl_->write_positions(); !status) return status;
  if (auto status = impl_->write_documents(); !status) return status;
  if (auto status = impl_->write_header(); !status) return status;
  if (auto status = impl_->bin.sync(); !status) return status;
  if (auto status = impl_->idx.sync(); !status) return status;
  return impl_->put_in_place();
}

std::int64_t IndexedWriter::documents() const { return impl_->documents; }
std::int64_t IndexedWriter::tokens() const { return impl_->tokens; }

}  // namespace orch::data
