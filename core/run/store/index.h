#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/outcome.h"
#include "core/record/run_facts.h"

namespace orch::store {

// <root>/index.sqlite: what the run folders say, so that a table of thousands of runs does not open
// thousands of files. Never the truth: every row can be made again from its folder. Several
// processes may use it at once.
class Index {
 public:
  struct Row {
    record::RunFacts facts;
    record::Outcome outcome;
    double updated = 0;  // seconds since 1970
  };

  // Opens or makes it; one of another version is emptied, a damaged one is set aside (as
  // index.sqlite.damaged) and made anew. Where that is not possible, or the file system cannot
  // lock, available() is false and why() says so. The same when something fails later, such as
  // a disk that fills up. Then every read finds nothing and every write does nothing.
  static Index open(const fs::path& root);
  Index(Index&&) noexcept;
  Index& operator=(Index&&) noexcept;
  ~Index();

  bool available() const;
  const std::string& why() const;

  // All rows of an experiment, in the order of the ids.
  std::vector<Row> rows(const std::string& experiment);
  // Adds or replaces, in one transaction: all of them or none.
  void put(const std::vector<Row>& rows);
  // Forgets runs of an experiment that are not among these ids.
  void keep_only(const std::string& experiment, const std::vector<std::string>& ids);
  // Forgets everything and puts these.
  void replace_all(const std::vector<Row>& rows);

 private:
  struct Database;
  explicit Index(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;
};

// Makes the index anew from the folders below a root; the number of runs in it. The folders do not
// say what a scheduler knows: a run without a state.json is planned. Runs that cannot be read are
// left out, and told in *damaged.
Result<std::size_t> rebuild_index(const fs::path& root, Errors* damaged = nullptr);

}  // namespace orch::store
