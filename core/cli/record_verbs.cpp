#include "core/cli/terminal.h"
#include "core/cli/usage.h"
#include "core/cli/verbs.h"

namespace orch::cli {
namespace {

void add_common(CLI::App& verb, app::RecordArguments& to) {
  add_list(
      verb, "--set", to.set,
      "What a log or a table does not say, name=value; of an experiment, path=value (repeatable)",
      "NAME=VALUE");
  verb.add_option("--cluster", to.cluster, "Cluster of logs and rows without a known site")
      ->type_name("NAME");
  add_list(verb, "--patterns", to.patterns, "Patterns of another framework's logs (repeatable)",
           "FILE.lua");
  verb.add_option("-o,--output", to.output, "Output file, instead of the terminal")
      ->type_name("FILE");
  to.common.screen = stdout_screen();
}

}  // namespace

void declare_ingest(CLI::App& verb, app::IngestArguments& to) {
  verb.add_option("PATH", to.records.words, "Logs, or folders of them; - is stdin")->required();
  verb.add_flag("--csv", to.csv, "The paths are tables of measurements");
  add_common(verb, to.records);
  add_format(verb, to.records.common);
}

void declare_compare(CLI::App& verb, app::CompareArguments& to) {
  verb.add_option("WHAT", to.records.words,
                  "Two or more; the first is what the others are compared with")
      ->required();
  add_list(verb, "--in", to.in,
           "Where to choose from: a table, logs, a folder of runs (repeatable)", "PATH");
  add_runs(verb, to.records.runs);
  verb.add_flag("--same-size", to.same_size, "Scale times to the FLOPs of the first model");
  add_common(verb, to.records);
  add_format(verb, to.records.common);
}

void declare_report(CLI::App& verb, app::ReportArguments& to) {
  verb.add_option("WHAT", to.records.words,
                  "Experiments (FILE.lua or a name), runs, logs, tables, records")
      ->required();
  add_runs(verb, to.records.runs);
  add_count(verb, "--top", to.top,
            "Rows on the terminal; 0 shows all (default: 20, all of a table)", 0, 1e9);
  verb.add_flag("--open", to.open, "Open the page in the browser");
  verb.add_flag("--attach", to.attach, "Include the files of the experiment and the clusters");
  verb.add_option("--watch", to.watch,
                  "Seconds between updates of the page while runs go on; it reloads itself")
      ->check(whole_number(1, 86400))
      ->type_name("SECONDS");
  add_common(verb, to.records);
  to.records.common.format = "html";
  add_format(verb, to.records.common, {"html", "md", "csv", "json", "svg"});
}

void declare_check(CLI::App& verb, app::RecordArguments& to) {
  verb.add_option("WHAT", to.words, "Experiments (FILE.lua or a name) or runs")->required();
  add_runs(verb, to.runs);
  add_common(verb, to);
  add_format(verb, to.common);
}

}  // namespace orch::cli
