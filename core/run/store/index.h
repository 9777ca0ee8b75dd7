#pragma once

#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/outcome.h"
#include "core/record/run_facts.h"

namespace orch::store {

// <root>/index.jsonl: what the run folders say, so that a table of thousands of runs does not open
// thousands of files. Never the truth: every row can be made again from its folder. Several
// processes may use it at once.
//
// A file of lines that only grows. What is put or forgotten together is a batch: its lines, and one
// that says how many they were. A batch without that line (its writer was killed, or still writes)
// is nothing, and the next writer cuts it off. Of several rows of a run the last one counts.
class Index {
 public:
  struct Row {
    record::RunFacts facts;
    record::Outcome outcome;
    double updated = 0;  // seconds since 1970
  };

  // Opens or makes it; one of another version is emptied, a damaged one is set aside (as
  // index.jsonl.damaged) and made anew. One beyond 1 GiB is emptied. Where that is not possible,
  // the file system cannot lock, or another process keeps the lock for seconds, available() is
  // false and why() says so. The same when something fails later, such as a disk that fills up.
  // Then every read finds nothing and every write does nothing.
  static Index open(const fs::path& root);

  bool available() const { return why_.empty(); }
  const std::string& why() const { return why_; }

  // All rows of an experiment, in the order of the ids.
  std::vector<Row> rows(const std::string& experiment);
  // Adds or replaces: all of them or none, whenever the process dies.
  void put(const std::vector<Row>& rows);
  // Forgets runs of an experiment that are not among these ids.
  void keep_only(const std::string& experiment, const std::vector<std::string>& ids);
  // Forgets these, where it has them. Where it cannot, the file goes: a row that is wrong is worse
  // than none.
  void forget(const std::string& experiment, const std::vector<std::string>& ids);
  // Forgets everything and puts these.
  void replace_all(const std::vector<Row>& rows);

 private:
  explicit Index(const fs::path& root) : file_(root / "index.jsonl"), lock_(root / "index.lock") {}

  // Does something under the lock; a failure of it is the index's.
  template <class Body>
  void locked(const Body& body);
  Status append(const std::vector<std::string>& lines);
  void set_aside();

  fs::path file_, lock_;
  std::string why_;
  bool stale_ = false;  // it seemed that most of its lines say what later ones say again
};

// Makes the index anew from the folders below a root; the number of runs in it. The folders do not
// say what a scheduler knows: a run without a state.json is planned. Runs that cannot be read are
// left out, and told in *damaged.
Result<std::size_t> rebuild_index(const fs::path& root, Errors* damaged = nullptr);

}  // namespace orch::store
