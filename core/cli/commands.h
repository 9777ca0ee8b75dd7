#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/model.h"
#include "core/show/tables/report.h"

namespace CLI {
class App;
}

namespace orch::cli {

// What several verbs take.
struct Common {
  std::string format = "table";
  tables::Screen screen;
};

struct PlanArguments {
  Common common;
  std::string file;
  std::vector<std::string> set;  // path=value, over what the file says
  std::string where;
  std::string runs = "runs";
  std::string start;  // a date, or empty
  double max_runs = 200'000;
  std::size_t top = 20;
  bool dry_run = false;
  bool again = false;  // what has finished is run once more
};

struct SearchArguments {
  Common common;
  std::string file;
  std::vector<std::string> set;
  std::vector<std::string> keep;
  std::vector<std::string> open;
  std::string where;
  std::string write;
  std::size_t top = 10;
  unsigned threads = 0;
};

struct ExplainArguments {
  Common common;
  std::string run;
  std::vector<std::string> set;  // with FILE.lua
  std::string where;
  std::string start;  // a date, or empty
  std::string runs = "runs";
};

struct ProbeArguments {
  Common common;
  std::vector<std::string> words;  // runs
  std::vector<std::string> set;    // with FILE.lua
  std::string where;
  std::string runs = "runs";
  std::string output = "probes";
  bool prepare = false, show = false;
};

struct ListArguments {
  Common common;
  std::string name;
};

struct ModelArguments {
  Common common;
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
  Common common;
  std::vector<std::string> files;  // none: the rows that orch ships
  std::string cluster;             // for rows whose site is none of ours
  std::string calibrate = "none";
  std::vector<std::string> without;  // ingredients to leave out
  bool rows = false;
  std::string table;  // only rows of a "source/table" that this expression finds
  std::string by;     // source, table or size; "": sources, tables and rows
  std::optional<double> tolerance;
};

struct CalibrateArguments {
  Common common;
  std::vector<std::string> files;
  std::string cluster;
  std::string output;
  std::string stacks;
  std::vector<std::string> only;  // clusters
  bool write = false;
  bool fresh = false;
  bool this_machine = false;
  std::int64_t ranks = 0;  // to measure with; 0: as many as suit the machine
};

struct DataBuildArguments {
  std::vector<std::string> inputs;  // files, or - for stdin
  std::string output;
  std::string tokenizer = "byte";
  std::string type = "auto";  // text, jsonl
  std::string json_key = "text";
  std::string eod;  // a token, instead of the tokenizer's own
  bool append_eod = true;
  bool split_lines = false;
  bool force = false;
};

struct DataShowArguments {
  Common common;
  std::string prefix;
  std::string tokenizer;  // to show text too
  bool quick = false;
};

struct ExportArguments {
  std::string from;
  std::string runs = "runs";
  std::string output;
  std::int64_t step = -1;  // the newest
  std::string dtype = "f32";
  std::string architecture;  // of transformers; empty: the one that fits
};

// For completions: names of a kind (clusters, models, strategies, runs, targets).
struct WordsArguments {
  std::string kind;
  std::string runs = "runs";
};

struct ImportArguments {
  std::string from;
  std::string output;
};

// What the verbs take that look at records.
struct RecordArguments {
  Common common;
  std::vector<std::string> words;     // what to look at
  std::string runs = "runs";          // the folder of the run folders
  std::string cluster;                // for rows and logs whose site is none of ours
  std::vector<std::string> set;       // name=value
  std::vector<std::string> patterns;  // more files of patterns
  std::string output;                 // a file instead of stdout
};

struct IngestArguments {
  RecordArguments records;
  bool csv = false;  // the paths are tables of measurements
};

struct CompareArguments {
  RecordArguments records;
  std::vector<std::string> in;  // where to choose from
  bool same_size = false;
};

struct ReportArguments {
  RecordArguments records;
  std::optional<std::size_t> top;  // rows on the terminal; not given: all of a table, else 20
  bool open = false;
  bool attach = false;  // the texts of experiment and clusters
  std::optional<int> watch;  // seconds between pages of what goes on
};

struct CheckArguments {
  RecordArguments records;
};

// Each does its verb, prints to stdout and stderr, and returns the program's exit code.
int plan_command(const PlanArguments& arguments);
int search_command(const SearchArguments& arguments);
int explain_command(const ExplainArguments& arguments);
int probe_command(const ProbeArguments& arguments);
int backends_command(const ListArguments& arguments);
int clusters_command(const ListArguments& arguments);
int models_command(const ModelArguments& arguments);
int validate_command(const ValidateArguments& arguments);
int calibrate_command(const CalibrateArguments& arguments);
int data_build_command(const DataBuildArguments& arguments);
int data_show_command(const DataShowArguments& arguments);
int export_command(const ExportArguments& arguments);
int import_command(const ImportArguments& arguments);
int ingest_command(const IngestArguments& arguments);
int compare_command(const CompareArguments& arguments);
int check_command(const CheckArguments& arguments);
int report_command(const ReportArguments& arguments);
int words_command(const WordsArguments& arguments);
int completion_command(const CLI::App& program, const std::string& shell);

// All text goes out by these three. What files and names brought into it cannot steer a terminal:
// control characters but line breaks, tabs and our own colours are shown as \xNN, in pipes too.

// Prints errors to stderr and returns the code.
int fail(const Errors& errors, int code);

// Prints to stdout; a reader that went away (orch … | head) is no error of ours.
void print(const std::string& text);

// Prints to stderr.
void note(const std::string& text);

}  // namespace orch::cli
