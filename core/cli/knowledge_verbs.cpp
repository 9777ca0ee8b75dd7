#include "core/cli/usage.h"
#include "core/cli/verbs.h"

namespace orch::cli {
namespace {

void add_lists(CLI::App& program, Arguments& to) {
  auto* backends = program.add_subcommand(
      "backends", "Strategies that the backends offer, the fields of training, and frameworks");
  backends->add_option("NAME", to.backends.name, "Only this strategy or backend, training or frameworks");
  add_format(backends, to.backends.common, {"table", "md", "json"});
  backends->footer(
      "\nExamples:\n  orch backends\n  orch backends deepspeed\n  orch backends training\n"
      "  orch backends frameworks");
  auto* clusters =
      program.add_subcommand("clusters", "Clusters, or one with the origin of its numbers");
  clusters->add_option("NAME", to.clusters.name, "Only this cluster, in full");
  add_format(clusters, to.clusters.common, {"table", "md", "json"});
  clusters->footer("\nExamples:\n  orch clusters\n  orch clusters jean-zay");
}

void add_models(CLI::App& program, ModelArguments& to) {
  auto* verb = program.add_subcommand("models", "Model presets, their sizes and bytes per GPU");
  verb->add_option("NAME", to.name, "Only this model, with its parts");
  add_format(verb, to.common, {"table", "md", "json"});
  verb->add_option("--tensor-parallel", to.tensor_parallel, "Split each layer")
      ->check(whole_number(1, 65536));
  verb->add_option("--pipeline-parallel", to.pipeline_parallel, "Spread the layers")
      ->check(whole_number(1, 65536));
  verb->add_option("--bytes-per-param", to.bytes_per_param, "Weights, gradients, optimizer")
      ->check(positive_number())
      ->capture_default_str();
  verb->add_option("--params", to.params, "A size instead of a model")->check(positive_number());
  verb->add_option("--tokens", to.tokens, "How long at a given rate: tokens")
      ->check(positive_number());
  verb->add_option("--tflops", to.tflops, "the rate per GPU")->check(positive_number());
  verb->add_option("--gpus", to.gpus, "and the GPUs")->check(positive_number());
  verb->footer(R"(
Examples:
  orch models
  orch models gpt-104b --tensor-parallel 4 --pipeline-parallel 32
  orch models --params 200e9 --tokens 300e9 --tflops 150 --gpus 350)");
}

void add_validate(CLI::App& program, ValidateArguments& to) {
  auto* verb = program.add_subcommand("validate", "Hold estimates against measured runs");
  verb->add_option("FILE", to.files,
                   "Measured rows in CSV; without it, the published ones of orch");
  add_format(verb, to.common, {"table", "md", "csv", "json", "svg"});
  verb->add_option("--cluster", to.cluster, "For rows whose site is none of our clusters");
  verb->add_option("--calibrate", to.calibrate, "What is fitted before it is held against rows")
      ->check(one_of({"none", "datasheet", "first", "loto", "loso"}))
      ->capture_default_str();
  verb->add_option("--without", to.without, "Leave this ingredient of estimates out (repeatable)")
      ->allow_extra_args(false)
      ->type_name("NAME");
  verb->add_flag("--rows", to.rows, "Every row, not only the worst");
  verb->add_option("--by", to.by, "Nothing but scores: of sources, of their tables, of sizes of models")
      ->check(one_of({"source", "table", "size"}));
  verb->add_option("--table", to.table, "Only rows whose source/table this expression finds")
      ->type_name("REGEX");
  verb->add_option("--tolerance", to.tolerance,
                   "Leave with code 7 where the mean error is larger, in percent")
      ->check(positive_number());
  verb->footer(R"(
Examples:
  orch validate
  orch validate mine.csv --cluster dgx-a100 --rows
  orch validate --format svg > predicted.svg
  orch validate mine.csv --format json | jq '.by_source[].mape'
  orch validate --calibrate loto --without 'LM head' --without bubble
  orch validate mine.csv --by source --tolerance 5
  orch validate mine.csv --by size --table 'nanotron.*tp<=8$'

--calibrate none takes clusters as shipped, datasheet only what their datasheets say, first one
  factor from each table's first row, loto refits with each table left out in turn (with each
  fifth of the rows, where a source has but one or two tables), loso with each source left out.
--without takes the name of an operation, a block or an item of memory as orch explain shows it, or
  alignment, bubble, communication, eras, memory-bound, partition (of layers over stages),
  recompute, slowest stage, tiles. With loto the other constants are fitted anew. What gets worse
  without an ingredient is what it is worth.
--by shows how good the verdicts on memory are, too: recall, of the runs out of memory those that were
  predicted; precision, of the predicted those that were. --tolerance looks at what --by shows, else at
  sources; rows that stand apart (unexplained.csv, or with assumed sizes) do not count.
Columns come in any order, and cells may be empty. id, gpu, gpus, framework, layers and hidden must
  be there; experiments/measured/*.csv show the others.)");
}

void add_calibrate(CLI::App& program, CalibrateArguments& to) {
  auto* verb = program.add_subcommand(
      "calibrate", "Fit a cluster's constants to measured runs, or measure this machine");
  auto* from = verb->add_option(
      "--from", to.files,
      "CSV files of measured runs, logs, run folders (default: the published ones)");
  verb->add_option("--cluster", to.cluster, "For rows whose site is no cluster of ours");
  auto* output = verb->add_option("-o,--output", to.output, "Write the cluster file here (.yaml)");
  auto* stacks =
      verb->add_option("--stacks", to.stacks, "Fit the factors of stacks too, and write them into this stacks.yaml");
  auto* write = verb->add_flag("--write", to.write,
                               "Write the constants into the cluster's own file")
                    ->excludes(output);
  verb->add_option("--only", to.only, "Fit these clusters; the others are as they are");
  auto* fresh =
      verb->add_flag("--fresh", to.fresh, "Start from datasheets, not from what was fitted before");
  auto* here = verb->add_flag("--this-machine", to.this_machine,
                              "Measure the machine at hand, as the cluster `local`")
                   ->excludes(from)
                   ->excludes(stacks)
                   ->excludes(write)
                   ->excludes(fresh);
  verb->add_option("--ranks", to.ranks, "With --this-machine: processes that measure together")
      ->check(whole_number(1, 1024))
      ->needs(here);
  verb->add_option("--format", to.common.format, "table, md or json")
      ->check(one_of({"table", "md", "json"}))
      ->capture_default_str();
  verb->footer(R"(
Examples:
  orch calibrate --from mine.csv --cluster dgx-a100 -o clusters/mine.yaml
  orch calibrate --from mine.csv --write
  orch calibrate --from runs/nightly -o clusters/mine.yaml
  orch calibrate --format json
  orch calibrate --this-machine
  orch calibrate --this-machine --ranks 4 -o clusters/laptop.yaml

--this-machine takes some 10 s: products, passes over memory, all-reduces, by as many processes as the
  machine has cores (2 to 4) or GPUs. It writes the cluster `local` for you and this machine, below
  XDG_DATA_HOME/orch/machines (~/.local/share); from then on it takes the place of the shipped one.
Machines and software have constants of their own. Without --stacks the factors of stacks.yaml hold and
  rows correct the machine; with it, both are fitted at once, over all rows of all machines.
Two or three rows already help: a constant that the rows say nothing about stays as it is, and one
  that they say little about moves little, from datasheets or from what was fitted before. Rows that stand apart (unexplained.csv) are not used.
  The columns of the rows: orch validate --help.)");
}

}  // namespace

void add_knowledge_verbs(CLI::App& program, Arguments& to) {
  add_lists(program, to);
  add_models(program, to.models);
  add_validate(program, to.validate);
  add_calibrate(program, to.calibrate);
}

}  // namespace orch::cli
