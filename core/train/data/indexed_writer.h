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

// Writes an indexed dataset, a document at a time, in constant memory. Both files are written
// beside their places and come into them with finish(), the index last: whoever finds an index
// finds all of it. One that is not finished leaves nothing behind, and what was there before as it
// was.
class IndexedWriter {
 public:
  // An error if there is one already and it may not be replaced, or if someone writes it now.
  static Result<IndexedWriter> create(const std::string& prefix, Dtype dtype, bool replace = false);

  // Of the document that is being written. Tokens must fit into the type (u16, i32).
  Status add(std::span<const std::int32_t> tokens);
  // Ends it, as one sequence; a document may be empty.
  Status end_document();
  Status finish();

  std::int64_t documents() const { return documents_; }
  std::int64_t tokens() const { return tokens_; }

 private:
  IndexedWriter(std::string prefix, Dtype dtype, bool replace, DraftFile bin, DraftFile idx)
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
  Dtype dtype_;
  bool replace_;
  // The sizes go into the index as they come. What follows them can be computed from them, and they
  // are read back for it in blocks, so that memory does not grow with the documents.
  DraftFile bin_;
  DraftFile idx_;
  std::int64_t documents_ = 0;
  std::int64_t tokens_ = 0;
  std::int64_t in_document_ = 0;
  std::vector<std::uint16_t> narrow_;  // kept for its memory
};

}  // namespace orch::data
