#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/train/data/mapped_file.h"

namespace orch::data {

// Megatron-LM's indexed dataset, version 1, little-endian:
//   PREFIX.bin  the tokens of all sequences
//   PREFIX.idx  "MMIDIDX\0\0", version (u64), dtype (u8), sequences (u64), entries of the document
//               index (u64); sizes (i32 each), positions in .bin (i64 each), document index (i64
//               each): where each document begins, in sequences, and the end of the last.
enum class TokenDtype : std::uint8_t { u8 = 1, i8 = 2, i16 = 3, i32 = 4, i64 = 5, u16 = 8 };

std::string_view name(TokenDtype dtype);
std::int64_t bytes_of(TokenDtype dtype);
// Megatron's choice.
TokenDtype dtype_for(std::int64_t vocab);

inline constexpr std::string_view kIndexMagic{"MMIDIDX\0\0", 9};
inline constexpr std::int64_t kIndexHeader = 9 + 8 + 1 + 8 + 8;

std::string bin_path(const std::string& prefix);
std::string idx_path(const std::string& prefix);

// Both files mapped into memory. The whole index is checked on opening, so that no number in it can
// lead outside the files. Thread-safe for reading.
class IndexedFile {
 public:
  static Result<IndexedFile> open(const std::string& prefix);

  std::int64_t sequences() const { return sequences_; }
  std::int64_t documents() const { return entries_ > 0 ? entries_ - 1 : 0; }
  std::int64_t tokens() const { return tokens_; }
  TokenDtype dtype() const { return dtype_; }
  const std::string& prefix() const { return prefix_; }

  std::int32_t size(std::int64_t sequence) const;
  // The first sequence of a document; for document = documents(): the end of the last one.
  std::int64_t document_begin(std::int64_t document) const;

  // Reads tokens [offset, offset + to.size()) of a sequence, which must have them. A value that
  // does not fit into 32 bits becomes -1.
  void read(std::int64_t sequence, std::int64_t offset, std::span<std::int32_t> to) const;

 private:
  IndexedFile() = default;
  std::int64_t position(std::int64_t sequence) const;
  Status read_header();
  Status check_sequences();
  Status check_documents() const;

  std::string prefix_;
  MappedFile bin_;
  MappedFile idx_;
  TokenDtype dtype_ = TokenDtype::i32;
  std::int64_t sequences_ = 0;
  std::int64_t entries_ = 0;
  std::int64_t tokens_ = 0;
};

}  // namespace orch::data
