#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/record/ingest/ingest.h"
#include "core/record/published/flops.h"
#include "core/record/record.h"

namespace orch::app {

using Records = std::vector<record::Record>;

// The records of a table or of logs as they say it, and what follows from all of them together.
struct RecordSet {
  Records records;
  published::Peers peers;
  std::vector<std::vector<record::Doubt>> doubts;  // of each
};

// Finds what words name and makes records of it, each with its estimate and its doubts. A table is
// read once, and of its rows only those that were asked for are estimated.
class Gatherer {
 public:
  // --set of a verb that takes logs as well as experiments: a path with a dot is of an experiment,
  // and so is every one where nothing else is named.
  Gatherer(App& app, const RecordArguments& arguments);

  // A word is the first of these that there is: an experiment (.lua: its runs as planned, and as
  // run), a table (.csv), records (.json), a run folder or a folder of them, a source that comes
  // with orch (gpt2-jz-v100), an experiment's name, a run by its id, its beginning or hash, a
  // row's id (b7b-0006); any other file or folder is taken for logs. Nothing: an error.
  Result<Records> find(const std::string& word);

  // Those of all words, with what was passed over told.
  Result<Records> find_all(const std::vector<std::string>& words, Console& console);

  // Whether the word is one of these.
  bool is_place(const std::string& word) const;

  Result<Records> logs(const std::vector<std::string>& paths);
  Result<Records> said_in_logs(
      const std::vector<std::string>& paths);  // without estimates and doubts
  Result<Records> table(const fs::path& file);
  Result<Records> every_run(const fs::path& root);  // of all run folders

  // Beside the records that were found so far.
  const Records& said() const { return said_; }  // of logs and tables, as said
  void tell_passed(Console& console) const;      // what was passed over and what could not be read
  const std::vector<PlannedExperiment>& experiments() const { return experiments_; }

 private:
  Result<Records> experiment(const std::string& file);
  Result<Records> run_folder(const fs::path& folder);
  Result<Records> row(const std::string& id);
  Status set_cells(record::Record& record) const;
  Result<ingest::Known> known_cells() const;  // of --set, before a log is read
  Result<const RecordSet*> read(const fs::path& table);
  Records judge(const RecordSet& said, const std::string& id = "");

  App& app_;
  const RecordArguments& arguments_;
  std::vector<std::string> set_;      // name=value: what logs and tables do not say
  std::vector<std::string> changes_;  // path=value: over what experiments say
  Records said_;
  std::map<fs::path, RecordSet> tables_;
  std::vector<ingest::Passed> passed_;
  std::vector<PlannedExperiment> experiments_;
  Errors troubles_;
};

// What --cluster says of a record without a site: who reads its table later has no --cluster.
void name_cluster(const std::string& cluster, record::Record& said);

// The runs of an experiment's folder as records: what they are, how they stand, what was measured
// and estimated. Those whose ids are named, or all. What cannot be read is told in troubles.
Result<Records> run_records(App& app, const fs::path& root, const std::string& experiment,
                            const std::vector<std::string>& ids, Errors& troubles);

// The records of a pool that a word chooses: "zero_stage=1,gpus=8" by fields (date, commit, id,
// source, table, state and experiment too; a date or a commit may be a beginning), or a bare word
// that is a strategy, a framework, an id or its beginning, a source, a table, a date or a commit;
// "" chooses all. Nothing chosen is an error that says what there is.
Result<std::vector<const record::Record*>> select(const Records& pool, const std::string& word);

// Prints the text, or writes it to the file that was asked for, whole or not at all; never over one
// of the inputs.
Ending put_out(const std::string& text, const std::string& file,
               const std::vector<std::string>& inputs, Console& console);
Status check_output(const std::string& file, const std::vector<std::string>& inputs);

// The records of all words together, or all their errors.
using FindRecords = std::function<Result<Records>(const std::string& word)>;
Result<Records> all_of(const std::vector<std::string>& words, const FindRecords& find);

}  // namespace orch::app
