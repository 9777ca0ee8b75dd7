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

// The formats of the logs of frameworks, as rules from Lua files (templates/logs/README.md).
class Patterns {
 public:
  // Rules of later files take precedence. An error lists all problems of all files.
  static Result<Patterns> load(const std::vector<fs::path>& files);

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  explicit Patterns(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// A file in which no run was found, with the reason.
struct SkippedText {
  std::string file;
  std::string reason;  // "empty", "binary", "no line of a known framework"
};

struct Ingested {
  std::vector<record::Record> runs;
  std::vector<SkippedText> passed;
  std::uint64_t bytes = 0;  // read
};

struct BytesRead {
  std::string file;
  std::uint64_t bytes = 0, of = 0;
};

// Facts about a run from outside its log, by the names of columns and patterns: gbs, seq, gpu.
using KnownFacts = std::vector<std::pair<std::string, std::string>>;

struct IngestOptions {
  KnownFacts set;  // overrides the log
  // Returns facts about the run of a log file. They are used where the log does not state them.
  std::function<KnownFacts(const fs::path& file)> beside = {};
  std::function<bool()> interrupted = {};
  std::function<void(const BytesRead&)> progress = {};
};

// Reads logs from files and folders. In a folder, every regular file that looks like a log is read,
// at any depth, except names that begin with a dot. "-" is stdin. Memory does not grow with the
// size of the files. A job's file of errors may show how the job ended: job-7.err beside job-7.out.
// A compressed file is read through the program that unpacks it. A missing path is an error. A file
// that is not a log, that is a copy of another one, or that is in a folder and cannot be read, is
// skipped.
Result<Ingested> ingest(const std::vector<std::string>& paths, const Patterns& patterns,
                        const IngestOptions& options = {});

// The log of a run that orch started with a foreign trainer, read while it grows. Each attempt has
// a file; together they count as one log.
class RunLog {
 public:
  // The patterns must outlive this object. `beside` has facts that the log may not state.
  RunLog(const Patterns& patterns, const KnownFacts& beside);
  RunLog(RunLog&&) noexcept;
  RunLog& operator=(RunLog&&) noexcept;
  ~RunLog();

  // Reads the new lines of a file, up to the last complete one. A file that cannot be opened counts
  // as one without new lines.
  void read(const fs::path& file);
  // The current file has ended: records that wait for more lines are used as they are.
  void end_file();
  // The most severe failure in the log that no steps followed, even if the start did no step or the
  // program exited normally afterwards. Without a failure the report is empty.
  record::FailureReport confession() const;
  // The last run in the log so far; nothing if there is none yet.
  std::optional<record::Record> found(const std::string& id) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orch::ingest
