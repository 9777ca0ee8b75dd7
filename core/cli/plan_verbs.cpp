#include "core/cli/usage.h"
#include "core/cli/verbs.h"

namespace orch::cli {
namespace {

void add_start(CLI::App& verb, std::optional<Date>& start) {
  verb.add_option_function<std::string>(
          "--start", [&start](const std::string& text) { start = parse_date(text); },
          "First day of the training, instead of the experiment's start")
      ->check(date());
}

}  // namespace

void declare_plan(CLI::App& verb, app::PlanArguments& to) {
  verb.add_option("FILE", to.source.file, "Experiment in Lua; - is stdin")->required();
  add_format(verb, to.common);
  add_set(verb, to.source.set);
  verb.add_option("--where", to.where, "Keep runs for which this Lua expression is true");
  add_count(verb, "--top", to.top, "Rows of the table; 0 shows all", 0, 1e9);
  add_start(verb, to.options.start);
  add_count(verb, "--max-runs", to.options.max_runs, "Largest number of runs to expand", 1, 1e9);
}

void declare_search(CLI::App& verb, app::SearchArguments& to) {
  verb.add_option("FILE", to.source.file, "Experiment in Lua; - is stdin")->required();
  add_format(verb, to.common);
  add_set(verb, to.source.set);
  add_list(verb, "--keep", to.opening.keep,
           "Keep the experiment's own values of this field (repeatable)", "FIELD");
  add_list(verb, "--open", to.opening.open, "Try every value of this field, or of all (repeatable)",
           "FIELD");
  verb.add_option("--where", to.where, "Only configurations for which this Lua expression is true");
  add_count(verb, "--top", to.top,
            "Number of entries of each list (default: 10 by time, 3 of the others)", 1, 1000);
  add_count(verb, "--threads", to.options.threads, "Number of threads; 0: one per core", 0, 1024);
  verb.add_option("--write", to.write, "Write the best as an experiment to this file");
}

void declare_price(CLI::App& verb, app::PriceArguments& to) {
  verb.add_option("SCRIPT", to.script, "Job script, or a launch line in a file; - is stdin")
      ->required();
  add_format(verb, to.common);
  verb.add_option("--on", to.on, "Machine, where the script does not tell")
      ->type_name("CLUSTER[/PARTITION]");
  add_count(verb, "--gpus", to.gpus, "Number of GPUs, instead of the script's", 1, 1e6);
  verb.add_option("--framework", to.framework, "Version of the program (default: the newest known)")
      ->type_name("NAME@VERSION");
  add_list(verb, "--var", to.variables, "A variable that the script expects (repeatable)",
           "NAME=VALUE");
  add_set(verb, to.set);
  add_count(verb, "--top", to.top, "Number of faster layouts to show; 0 does not search", 0, 50);
  verb.add_option("--write", to.write, "Write the experiment to this file");
}

void declare_explain(CLI::App& verb, app::ExplainArguments& to) {
  verb.add_option("RUN", to.run.file,
                  "Run id, its beginning or hash, a run folder, or FILE.lua (its best); - is stdin")
      ->required();
  add_format(verb, to.common);
  add_set(verb, to.run.set);
  verb.add_option("--where", to.where,
                  "With FILE.lua: the best of the runs for which this is true");
  add_start(verb, to.start);
  add_runs(verb, to.runs);
}

void declare_probe(CLI::App& verb, app::ProbeArguments& to) {
  verb.add_option("RUN", to.words,
                  "Run ids, their beginnings or hashes, run folders, or FILE.lua (its best)")
      ->required();
  add_format(verb, to.common);
  add_set(verb, to.set);
  verb.add_option("--where", to.where,
                  "With FILE.lua: the best of the runs for which this is true");
  add_runs(verb, to.runs);
  verb.add_option("-o,--output", to.output, "Output folder of the slices")->capture_default_str();
  auto* prepare = verb.add_flag("--prepare", to.prepare,
                                "Only write the slices, to run them on another machine");
  verb.add_flag("--show", to.show, "Only read what they wrote")->excludes(prepare);
}

}  // namespace orch::cli
