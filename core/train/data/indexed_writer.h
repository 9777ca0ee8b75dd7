#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

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
  IndexedWriter(IndexedWriter&&) noexcept;
  IndexedWriter& operator=(IndexedWriter&&) noexcept;
  ~IndexedWriter();

  // Of the document that is being written. Tokens must fit into the type (u16, i32).
  Status add(std::span<const std::int32_t> tokens);
  // Ends it, as one sequence; a document may be empty.
  Status end_document();
  Status finish();

  std::int64_t documents() const;
  std::int64_t tokens() const;

 private:
  struct Impl;
  explicit IndexedWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace orch::data
