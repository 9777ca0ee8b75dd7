#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/facts.h"

namespace orch::ingest {

// How the logs of frameworks are written: rules from Lua files (templates/logs/README.md).
class Patterns {
 public:
  // Later files go before earlier ones. Every problem of every file at once.
  static Result<Patterns> load(const std::vector<fs::path>& files);

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  explicit Patterns(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// A file that gave nothing, and why.
struct SkippedText {
  std::string file;
  std::string reason;  // "empty", "binary", "no line of a known framework"
};

struct Ingested {
  std::vector<record::Record> runs;  // as their logs say them
  std::vector<SkippedText> passed;
  std::uint64_t bytes = 0;  // read
};

struct BytesRead {
  std::string file;
  std::uint64_t bytes = 0, of = 0;
};

// What is known of a run besides its log, by the names of columns and patterns: gbs, seq, gpu.
using KnownFacts = std::vector<std::pair<std::string, std::string>>;

struct IngestOptions {
  KnownFacts set;  // counts, whatever the log says
  // Of the run whose log a file is: what the log does not say.
  std::function<KnownFacts(const fs::path& file)> beside = {};
  std::function<bool()> interrupted = {};
  std::function<void(const BytesRead&)> progress = {};
};

// Files and folders (every plain file below them that looks like a log; a name that begins with a
// point is left alone). How a job ended may be told in its file of errors: job-7.err beside
// job-7.out. Streams: memory does not grow with the files. "-" is stdin. A missing path is an
// error; a file that is no log, or of a folder and cannot be read, is passed over, and so is one
// that is a copy of another. A compressed one is read through the program that unpacks it.
Result<Ingested> ingest(const std::vector<std::string>& paths, const Patterns& patterns,
                        const IngestOptions& options = {});

// The log of a run of ours whose trainer is not, read as it grows: one file of each attempt, as if
// they were one log.
class RunLog {
 public:
  // The patterns outlive it. What the log does not say is taken from beside it.
  RunLog(const Patterns& patterns, const KnownFacts& beside);
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
  record::FailureReport confession() const;
  // The last run in it so far; nothing: there is none yet.
  std::optional<record::Record> found(const std::string& id) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orch::ingest
