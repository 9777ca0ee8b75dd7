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

using RecordList = std::vector<record::Record>;

// The records of a table or of logs as stated, and the doubts that need all of them.
struct RecordSet {
  RecordList records;
  published::PeerRows peers;
  std::vector<std::vector<record::Doubt>> doubts;  // one list per record
};

// Finds records by arguments, each with its estimate and its doubts. A table is read once, and only
// the requested rows are estimated.
class Gatherer {
 public:
  // --set of a verb that accepts logs as well as experiments: a path with a dot refers to an
  // experiment, and so does every path if only experiments are named.
  Gatherer(App& app, const RecordArguments& arguments);

  // An argument is the first of these that exists: an experiment (.lua: its runs as planned, and as
  // run), a table (.csv), records (.json), a run folder or a folder of them, a source that comes
  // with orch (gpt2-jz-v100), an experiment's name, a run by its id, prefix or hash, a row's id
  // (b7b-0006); any other file or folder is read as logs. Otherwise an error.
  Result<RecordList> find(const std::string& word);

  // The records of all arguments; reports what was skipped.
  Result<RecordList> find_all(const std::vector<std::string>& words, Console& console);

  // True if the argument names one of these.
  bool is_place(const std::string& word) const;

  Result<RecordList> logs(const std::vector<std::string>& paths);
  Result<RecordList> said_in_logs(
      const std::vector<std::string>& paths);  // without estimates and doubts
  Result<RecordList> table(const fs::path& file);
  Result<RecordList> every_run(const fs::path& root);  // from all run folders

  // Found so far, in addition to the returned records:
  const RecordList& said() const { return said_; }  // logs and tables, as stated
  void tell_passed(Console& console) const;         // reports skipped and unreadable files
  const std::vector<PlannedExperiment>& experiments() const { return experiments_; }

 private:
  Result<RecordList> experiment(const std::string& file);
  Result<RecordList> run_folder(const fs::path& folder);
  Result<RecordList> row(const std::string& id);
  Status set_cells(record::Record& record) const;
  Result<ingest::KnownFacts> known_cells() const;  // from --set, before a log is read
  Result<const RecordSet*> read(const fs::path& table);
  RecordList judge(const RecordSet& said, const std::string& id = "");

  App& app_;
  const RecordArguments& arguments_;
  std::vector<std::string> set_;      // name=value: fields that logs and tables omit
  std::vector<std::string> changes_;  // path=value: changes of experiments
  RecordList said_;
  std::map<fs::path, RecordSet> tables_;
  std::vector<ingest::SkippedText> passed_;
  std::vector<PlannedExperiment> experiments_;
  Errors troubles_;
};

// Stores the value of --cluster in a record without a site, for later readers of its table.
void name_cluster(const std::string& cluster, record::Record& said);

// The runs of an experiment's folder as records: their fields, state, measurements and estimates.
// Only those with the given ids, or all. What cannot be read is added to troubles.
Result<RecordList> run_records(App& app, const fs::path& root, const std::string& experiment,
                               const std::vector<std::string>& ids, Errors& troubles);

// The records of a pool that an expression selects: "zero_stage=1,gpus=8" by fields (date, commit,
// id, source, table, state and experiment too; a prefix is enough for a date or a commit), or a
// single strategy, framework, id or its prefix, source, table, date or commit; "" selects all. An
// empty selection is an error that lists what exists.
Result<std::vector<const record::Record*>> select(const RecordList& pool, const std::string& word);

// Prints the text, or writes it to a file, completely or not at all; never over one of the inputs.
Ending put_out(const std::string& text, const std::string& file,
               const std::vector<std::string>& inputs, Console& console);
// The same of an answer in the requested format.
Ending put_out(const show::Answer& answer, const CommonArguments& common, const std::string& file,
               const std::vector<std::string>& inputs, Console& console);
Status check_output(const std::string& file, const std::vector<std::string>& inputs);

// The records of all arguments together, or all their errors.
using FindRecords = std::function<Result<RecordList>(const std::string& word)>;
Result<RecordList> all_of(const std::vector<std::string>& words, const FindRecords& find);

}  // namespace orch::app
