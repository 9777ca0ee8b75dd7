#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/files.h"
#include "core/record/facts.h"
#include "core/record/ingest/ingest.h"

namespace orch::ingest {

// The log of a run of ours whose trainer is not, read as it grows: one file of each attempt, as if
// they were one log.
class RunLog {
 public:
  // The patterns outlive it. What the log does not say is taken from beside it.
  RunLog(const Patterns& patterns, const Known& beside);
  RunLog(RunLog&&) noexcept;
  RunLog& operator=(RunLog&&) noexcept;
  ~RunLog();

  // Reads what is new in a file, as far as its last whole line. One that cannot be opened has
  // nothing new.
  void read(const fs::path& file);
  // The file before is at its end: what waits for more lines counts as it is.
  void end_file();
  // The gravest sign of a failure that no steps came after: also of a start without a step, and of
  // a program that said good-bye then. None: there is none.
  record::Confession confession() const;
  // The last run in it so far; nothing: there is none yet.
  std::optional<record::Record> found(const std::string& id) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orch::ingest
