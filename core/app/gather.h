#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/record/ingest/ingest.h"
#include "core/record/record.h"

namespace orch::app {

struct GatherOptions {
  std::string runs = "runs";          // the folder of the run folders
  std::string cluster;                // for rows and logs whose site is none of ours
  std::vector<std::string> set;       // name=value: what logs and tables do not say
  std::vector<std::string> patterns;  // more files of patterns
  std::vector<std::string> changes;   // path=value: over what experiments say
};

// Finds what words name and makes records of it, each with its estimate and its doubts.
class Gatherer {
 public:
  Gatherer(App& app, GatherOptions options);

  // A word is the first of these that there is: an experiment (.lua: its runs as planned, and as
  // run), a table (.csv), records (.json), a run folder or a folder of them, a source that comes
  // with orch (gpt2-jz-v100), an experiment's name, a run by its id, its beginning or hash, a
  // row's id (b7b-0006); any other file or folder is taken for logs. Nothing: an error.
  Result<std::vector<record::Record>> find(const std::string& word);

  // Whether the word is one of these.
  bool is_place(const std::string& word) const;

  Result<std::vector<record::Record>> logs(const std::vector<std::string>& paths);
  Result<std::vector<record::Record>> table(const fs::path& file);
  Result<std::vector<record::Record>> every_run();  // of all run folders

  // Beside the records that were found so far.
  const std::vector<record::Record>& said() const { return said_; }  // of logs and tables, as said
  const std::vector<ingest::Passed>& passed() const { return passed_; }
  const std::vector<PlannedExperiment>& experiments() const { return experiments_; }
  const Errors& troubles() const { return troubles_; }                // told, and gone on

 private:
  Status check_cluster() const;
  Result<std::vector<record::Record>> experiment(const std::string& file);
  Result<std::vector<record::Record>> runs_of(const std::string& experiment,
                                              const std::vector<std::string>& ids);
  Result<std::vector<record::Record>> run_folder(const fs::path& folder);
  Result<std::vector<record::Record>> row(const std::string& id);
  Result<std::vector<record::Record>> shipped_rows();
  Status set_cells(record::Record& record) const;
  Result<ingest::Known> known_cells() const;  // of --set, before a log is read
  std::vector<record::Record> judge(std::vector<record::Record> said);

  App& app_;
  GatherOptions options_;
  std::vector<record::Record> said_;
  std::vector<ingest::Passed> passed_;
  std::vector<PlannedExperiment> experiments_;
  Errors troubles_;
};

}  // namespace orch::app
