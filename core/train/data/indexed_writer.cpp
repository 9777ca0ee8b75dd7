#include "core/train/data/indexed_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

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

Status IndexedWriter::write_positions() {
  std::vector<std::int32_t> sizes(kBlock);
  std::vector<std::int64_t> positions(kBlock);
  std::int64_t at = 0;
  for (std::int64_t done = 0; done < documents_;) {
    const auto n = std::min<std::size_t>(kBlock, static_cast<std::size_t>(documents_ - done));
    const auto from = static_cast<std::uint64_t>(kIndexHeader + 4 * done);
    if (auto status = idx_.read_at(from, sizes.data(), 4 * n); !status) return status;
    for (std::size_t i = 0; i < n; ++i) {
      positions[i] = at;
      at += sizes[i] * bytes_of(dtype_);
    }
    if (auto status = idx_.append(positions.data(), 8 * n); !status) return status;
    done += static_cast<std::int64_t>(n);
  }
  return {};
}

// Each document is one sequence: 0, 1, 2, ...
Status IndexedWriter::write_documents() {
  for (std::int64_t i = 0; i <= documents_; ++i)
    if (auto status = idx_.append(&i, sizeof i); !status) return status;
  return {};
}

Status IndexedWriter::write_header() {
  char header[kIndexHeader];
  const std::uint64_t counts[] = {static_cast<std::uint64_t>(documents_),
                                  static_cast<std::uint64_t>(documents_) + 1};
  const std::uint64_t version = 1;
  std::memcpy(header, kIndexMagic.data(), 9);
  std::memcpy(header + 9, &version, 8);
  header[17] = static_cast<char>(dtype_);
  std::memcpy(header + 18, counts, 16);
  return idx_.write_at(0, header, sizeof header);
}

// An old index is removed first: it must never exist beside other tokens than its own.
Status IndexedWriter::put_in_place() {
  if (replace_ && ::unlink(idx_path(prefix_).c_str()) != 0 && errno != ENOENT)
    return file_error(idx_path(prefix_), "cannot replace", errno);
  sync_folder(folder_of(prefix_));
  if (auto status = bin_.publish(); !status) return status;
  sync_folder(folder_of(prefix_));
  if (auto status = idx_.publish(); !status) return status;
  sync_folder(folder_of(prefix_));
  return {};
}

Result<IndexedWriter> IndexedWriter::create(const std::string& prefix, TokenDtype dtype,
                                            bool replace) {
  ORCH_CHECK(dtype == TokenDtype::u16 || dtype == TokenDtype::i32, "a type that is never written");
  for (const auto& path : {idx_path(prefix), bin_path(prefix)})
    if (!replace && exists(path))
      return Error{printable(path), "exists already",
                   "name another place, or replace it (--force)"};
  auto idx = DraftFile::create(idx_path(prefix), DraftFile::Name::locked);
  if (!idx) return idx.error();
  auto bin = DraftFile::create(bin_path(prefix), DraftFile::Name::locked);
  if (!bin) return bin.error();
  const char blank[kIndexHeader] = {};
  if (auto status = idx->append(blank, sizeof blank); !status) return status.error();
  return IndexedWriter(prefix, dtype, replace, std::move(*bin), std::move(*idx));
}

Status IndexedWriter::add(std::span<const std::int32_t> tokens) {
  in_document_ += static_cast<std::int64_t>(tokens.size());
  if (in_document_ > kLongest)
    return Error{printable(prefix_), "a document has more than 2,147,483,647 tokens",
                 "split it: the format does not allow longer documents"};
  if (dtype_ == TokenDtype::i32) return bin_.append(tokens.data(), tokens.size_bytes());
  narrow_.assign(tokens.begin(), tokens.end());
  return bin_.append(narrow_.data(), narrow_.size() * sizeof(std::uint16_t));
}

Status IndexedWriter::end_document() {
  const auto size = static_cast<std::int32_t>(in_document_);
  tokens_ += size;
  in_document_ = 0;
  ++documents_;
  return idx_.append(&size, sizeof size);
}

Status IndexedWriter::finish() {
  ORCH_CHECK(in_document_ == 0, "a document was not ended");
  if (auto status = idx_.flush(); !status) return status;
  if (auto status = write_positions(); !status) return status;
  if (auto status = write_documents(); !status) return status;
  if (auto status = write_header(); !status) return status;
  if (auto status = bin_.sync(); !status) return status;
  if (auto status = idx_.sync(); !status) return status;
  return put_in_place();
}

}  // namespace orch::data
