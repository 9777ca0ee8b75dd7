#pragma once

#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/record/ingest/ingest.h"
#include "core/record/record.h"

namespace orch::app {

// Finds what words name and makes records of it, each with its estimate and its doubts.
class Gatherer {
 public:
  // --set of a verb that takes logs as well as experiments: a path with a dot is of an experiment,
  // and so is every one where nothing else is named.
  Gatherer(App& app, const RecordArguments& arguments);

  // A word is the first of these that there is: an experiment (.lua: its runs as planned, and as
  // run), a table (.csv), records (.json), a run folder or a folder of them, a source that comes
  // with orch (gpt2-jz-v100), an experiment's name, a run by its id, its beginning or hash, a
  // row's id (b7b-0006); any other file or folder is taken for logs. Nothing: an error.
  Result<std::vector<record::Record>> find(const std::string& word);

  // Whether the word is one of these.
  bool is_place(const std::string& word) const;

  Result<std::vector<record::Record>> logs(const std::vector<std::string>& paths);
  Result<std::vector<record::Record>> table(const fs::path& file);
  Result<std::vector<record::Record>> every_run(const fs::path& root);  // of all run folders

  // Beside the records that were found so far.
  const std::vector<record::Record>& said() const { return said_; }  // of logs and tables, as said
  const std::vector<ingest::Passed>& passed() const { return passed_; }
  const std::vector<PlannedExperiment>& experiments() const { return experiments_; }
  const Errors& troubles() const { return troubles_; }                // told, and gone on

 private:
  Result<std::vector<record::Record>> experiment(const std::string& file);
  Result<std::vector<record::Record>> run_folder(const fs::path& folder);
  Result<std::vector<record::Record>> row(const std::string& id);
  Status set_cells(record::Record& record) const;
  Result<ingest::Known> known_cells() const;  // of --set, before a log is read
  std::vector<record::Record> judge(std::vector<record::Record> said);

  App& app_;
  const RecordArguments& arguments_;
  std::vector<std::string> set_;      // name=value: what logs and tables do not say
  std::vector<std::string> changes_;  // path=value: over what experiments say
  std::vector<record::Record> said_;
  std::vector<ingest::Passed> passed_;
  std::vector<PlannedExperiment> experiments_;
  Errors troubles_;
};

// The runs of an experiment's folder as records: what they are, how they stand, what was measured
// and estimated. Those whose ids are named, or all. What cannot be read is told in troubles.
Result<std::vector<record::Record>> run_records(App& app, const fs::path& root,
                                                const std::string& experiment,
                                                const std::vector<std::string>& ids,
                                                Errors& troubles);

// The records of a pool that a word chooses: "zero_stage=1,gpus=8" by fields (date, commit, id,
// source, table, state and experiment too; a date or a commit may be a beginning), or a bare word
// that is a strategy, a framework, an id or its beginning, a source, a table, a date or a commit.
// Nothing chosen is an error that says what there is.
Result<std::vector<const record::Record*>> select(const std::vector<record::Record>& pool,
                                                  const std::string& word);

}  // namespace orch::app
