#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/draft.h"
#include "core/base/result.h"
#include "core/train/data/indexed.h"

namespace orch::data {

// Writes an indexed dataset, document by document, in constant memory. Both files are written
// beside their final paths and renamed by finish(), the index last: so a dataset with an index is
// complete. An unfinished one leaves nothing behind and changes nothing.
class IndexedWriter {
 public:
  // An error if the dataset exists and may not be replaced, or if another process is writing it.
  static Result<IndexedWriter> create(const std::string& prefix, TokenDtype dtype,
                                      bool replace = false);

  // Appends to the current document. Tokens must fit into the type (u16, i32).
  Status add(std::span<const std::int32_t> tokens);
  // Ends the document, as one sequence; it may be empty.
  Status end_document();
  Status finish();

  std::int64_t documents() const { return documents_; }
  std::int64_t tokens() const { return tokens_; }

 private:
  IndexedWriter(std::string prefix, TokenDtype dtype, bool replace, DraftFile bin, DraftFile idx)
      : prefix_(std::move(prefix)),
        dtype_(dtype),
        replace_(replace),
        bin_(std::move(bin)),
        idx_(std::move(idx)) {}
  Status write_positions();
  Status write_documents();
  Status write_header();
  Status put_in_place();

  std::string prefix_;
  TokenDtype dtype_;
  bool replace_;
  // Sizes are written to the index as they come. The tables behind them can be computed from them,
  // so sizes are read back in blocks, and memory does not grow with the number of documents.
  DraftFile bin_;
  DraftFile idx_;
  std::int64_t documents_ = 0;
  std::int64_t tokens_ = 0;
  std::int64_t in_document_ = 0;
  std::vector<std::uint16_t> narrow_;  // buffer, reused
};

}  // namespace orch::data
