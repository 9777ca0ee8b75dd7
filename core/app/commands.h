#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/app/console.h"
#include "core/price/search/search.h"
#include "core/price/tune/replay.h"
#include "core/run/follow/options.h"
#include "core/show/answer.h"
#include "core/show/tables/report.h"

namespace orch::app {

// Options that several verbs share.
struct CommonArguments {
  std::string format = "table";
  show::Screen screen;

  // Prints the answer in the requested format. What CSV cannot contain is printed to stderr.
  void give(const show::Answer& answer, Console& console) const;

  // Prints text that belongs to a table in the same place, or to stderr if the answer is for a
  // program.
  void tell(const std::string& text, Console& console) const {
    format == "table" ? console.print(text) : console.note(text);
  }
};

struct PlanArguments {
  CommonArguments common;
  experiment::ExperimentSource source = "";
  PlanOptions options;
  std::string where;
  std::size_t top = 20;
};

struct SearchArguments {
  CommonArguments common;
  experiment::ExperimentSource source = "";
  search::OpenFields opening;
  search::SearchOptions options;
  std::size_t top = 0;  // entries of every list; 0: a default for each list
  std::string where;
  std::string write;
};

struct PriceArguments {
  CommonArguments common;
  std::string script;                  // a job script or launch line; - is stdin
  std::string on;                      // CLUSTER or CLUSTER/PARTITION
  std::int64_t gpus = 0;               // 0: as the script has it
  std::string framework;               // NAME@VERSION where the flags do not tell
  std::vector<std::string> variables;  // NAME=VALUE, as if they were set before the script
  std::vector<std::string> set;
  std::size_t top = 5;  // layouts that are faster
  std::string write;    // the experiment, as a file
};

struct ExplainArguments {
  CommonArguments common;
  experiment::ExperimentSource run = "";  // changes are allowed for FILE.lua only
  std::string where;
  std::optional<Date> start;
  std::string runs = "runs";
};

struct ProbeArguments {
  CommonArguments common;
  std::vector<std::string> words;  // runs
  std::vector<std::string> set;    // only with FILE.lua
  std::string where;
  std::string runs = "runs";
  std::string output = "probes";
  bool prepare = false, show = false;
};

struct ListArguments {
  CommonArguments common;
  std::string name;
};

struct ModelArguments {
  CommonArguments common;
  std::string name;
  int tensor_parallel = 1;
  int pipeline_parallel = 1;
  double bytes_per_param = 18;
  double params = 0;
  double tokens = 0;
  double gpus = 0;
  double tflops = 0;
};

struct ValidateArguments {
  CommonArguments common;
  std::vector<std::string> files;  // none: the shipped rows
  std::string cluster;             // for rows with an unknown site
  std::string calibrate = "none";
  std::vector<std::string> without;  // parts to leave out
  bool rows = false;
  std::string table;  // only rows whose "source/table" matches this expression
  std::string by;     // source, table or size; "": sources, tables and rows
  std::optional<double> tolerance;
  bool tune = false;  // replay orch tune among the rows instead
  tune::TuneLimits limits;
};

struct CalibrateArguments {
  CommonArguments common;
  std::vector<std::string> files;
  std::string cluster;
  std::string output;
  std::string stacks;
  std::vector<std::string> only;  // names of clusters
  bool write = false;
  bool fresh = false;
  bool failures = false;  // learn how often jobs fail, instead of how long steps take
  bool this_machine = false;
  std::int64_t ranks = 0;  // ranks to measure with; 0: as suits the machine
};

struct DocumentOptions {
  std::string type = "auto";  // from the name: .jsonl and .ndjson are jsonl, others text
  std::string json_key = "text";
  bool split_lines = false;
};

struct DataBuildArguments {
  std::vector<std::string> inputs;  // files, or - for stdin
  std::string output;
  DocumentOptions documents;
  std::string tokenizer = "byte";
  std::string eod;  // a token other than the tokenizer's own
  bool append_eod = true;
  bool force = false;
};

struct DataShowArguments {
  CommonArguments common;
  std::string prefix;
  std::string tokenizer;  // to print text too
  bool quick = false;
};

struct ExportArguments {
  std::string from;
  std::string runs = "runs";
  std::string output;
  std::int64_t step = -1;  // -1: the newest
  std::string dtype = "f32";
  std::string architecture;  // class in transformers; empty: the first that fits
};

struct ImportArguments {
  std::string from;
  std::string output;
};

// Options of the verbs that show records.
struct RecordArguments {
  CommonArguments common;
  std::vector<std::string> words;     // which records
  std::string runs = "runs";          // the folder of the run folders
  std::string cluster;                // for rows and logs with an unknown site
  std::vector<std::string> set;       // name=value
  std::vector<std::string> patterns;  // additional files of patterns
  std::string output;                 // a file instead of stdout
};

struct IngestArguments {
  RecordArguments records;
  bool csv = false;  // the paths are tables of measurements
};

struct CompareArguments {
  RecordArguments records;
  std::vector<std::string> in = {};  // where to select from
  bool same_size = false;
};

struct ReportArguments {
  RecordArguments records;
  std::optional<std::size_t> top = {};  // rows on the terminal; not given: all of a table, else 20
  bool open = false;
  bool attach = false;            // include the files of experiment and clusters
  std::optional<int> watch = {};  // seconds between updates of the page
};

// Options of the verbs that follow runs.
struct FollowArguments {
  CommonArguments common;
  std::vector<std::string> targets;  // experiments and runs; none: all
  std::string runs = "runs";
  std::size_t top = 20;
  follow::FollowLimits options;
  bool yes = false;        // do not ask for confirmation
  bool detach = false;     // submit and exit
  bool look_only = false;  // submit nothing
  bool stop = false;       // cancel after the next checkpoint
};

struct RunArguments {
  PlanArguments plan;
  bool dry_run = false;
  follow::FollowLimits options;
  std::size_t take = 0;  // number of best runs to submit; 0: all
  bool oom = false;      // also runs that do not fit by their estimate
  bool yes = false;
  bool detach = false;
  bool no_calibrate = false;  // use the cluster `local` unmeasured
};

struct TuneArguments {
  RunArguments run;
  tune::TuneLimits limits;
  std::int64_t steps = 20;   // of a measurement
  double gpu_hours = 0;      // of all measurements; 0: no limit
  std::size_t together = 4;  // measurements of one SLURM job
  double minutes = 0;        // time limit of a measurement there; 0: by its estimate
  bool write = false;        // fit the machine's constants to the measurements
};

struct LogsArguments {
  std::string run;
  std::string runs = "runs";
  bool follow = false;
  int rank = -1;      // all
  int attempt = 0;    // 0: the last
  double lines = 50;  // last lines to print; 0: all
};

struct DoctorArguments {
  CommonArguments common;
  std::string runs = "runs";
  std::int64_t nodes = 0;        // number of nodes to measure; 0: look at this machine
  std::string on;                // CLUSTER/PARTITION
  std::vector<std::string> set;  // fields of the job's experiment
  bool write = false;            // latencies and bandwidths into the cluster's file
  bool yes = false;
};

// Options of the supervisor process of local runs.
struct SuperviseArguments {
  std::string submission;  // the submission's folder
};

// Each function executes its verb and prints to the console.
Ending plan_command(App& app, const PlanArguments& arguments, Console& console);
Ending search_command(App& app, const SearchArguments& arguments, Console& console);
Ending price_command(App& app, const PriceArguments& arguments, Console& console);
Ending explain_command(App& app, const ExplainArguments& arguments, Console& console);
Ending probe_command(App& app, const ProbeArguments& arguments, Console& console);
Ending backends_command(App& app, const ListArguments& arguments, Console& console);
Ending clusters_command(const ListArguments& arguments, Console& console);
Ending models_command(App& app, const ModelArguments& arguments, Console& console);
Ending validate_command(App& app, const ValidateArguments& arguments, Console& console);
Ending calibrate_command(App& app, const CalibrateArguments& arguments, Console& console);
Ending data_build_command(const DataBuildArguments& arguments, Console& console);
Ending data_show_command(const DataShowArguments& arguments, Console& console);
Ending export_command(const ExportArguments& arguments, Console& console);
Ending import_command(const ImportArguments& arguments, Console& console);
Ending ingest_command(App& app, const IngestArguments& arguments, Console& console);
Ending compare_command(App& app, const CompareArguments& arguments, Console& console);
Ending check_command(App& app, const RecordArguments& arguments, Console& console);
Ending report_command(App& app, const ReportArguments& arguments, Console& console);
Ending run_command(App& app, const RunArguments& arguments, Console& console);
Ending tune_command(App& app, const TuneArguments& arguments, Console& console);
Ending status_command(const FollowArguments& arguments, Console& console);
Ending watch_command(const FollowArguments& arguments, Console& console);
Ending cancel_command(const FollowArguments& arguments, Console& console);
Ending resume_command(const FollowArguments& arguments, Console& console);
Ending retry_command(const FollowArguments& arguments, Console& console);
Ending logs_command(const LogsArguments& arguments, Console& console);
Ending inspect_command(const FollowArguments& arguments, Console& console);
Ending doctor_command(const DoctorArguments& arguments, Console& console);
Ending index_command(const FollowArguments& arguments, Console& console);
Ending supervise_command(const SuperviseArguments& arguments, Console& console);

// Names for completion: clusters, models, strategies; runs and targets of a folder. Unreadable
// sources give none.
std::vector<std::string> names_of(const std::string& kind, const fs::path& runs);

}  // namespace orch::app
