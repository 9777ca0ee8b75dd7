#include "core/cli/usage.h"
#include "core/cli/verbs.h"

namespace orch::cli {

void declare_backends(CLI::App& verb, app::ListArguments& to) {
  verb.add_option("NAME", to.name, "Only this strategy or backend, training, frameworks or stacks");
  add_format(verb, to.common, {"table", "md", "csv", "json"});
}

void declare_clusters(CLI::App& verb, app::ListArguments& to) {
  verb.add_option("NAME", to.name, "Only this cluster, in full");
  add_format(verb, to.common, {"table", "md", "csv", "json"});
}

void declare_models(CLI::App& verb, app::ModelArguments& to) {
  verb.add_option("NAME", to.name, "Only this model, with its parts");
  add_format(verb, to.common, {"table", "md", "csv", "json"});
  verb.add_option("--tensor-parallel", to.tensor_parallel, "Split each layer")
      ->check(whole_number(1, 65536));
  verb.add_option("--pipeline-parallel", to.pipeline_parallel, "Spread the layers")
      ->check(whole_number(1, 65536));
  verb.add_option("--bytes-per-param", to.bytes_per_param, "Weights, gradients, optimizer")
      ->check(positive_number())
      ->capture_default_str();
  verb.add_option("--params", to.params, "A size instead of a model")->check(positive_number());
  verb.add_option("--tokens", to.tokens, "How long at a given rate: tokens")
      ->check(positive_number());
  verb.add_option("--tflops", to.tflops, "the rate per GPU")->check(positive_number());
  verb.add_option("--gpus", to.gpus, "and the GPUs")->check(positive_number());
}

void declare_validate(CLI::App& verb, app::ValidateArguments& to) {
  verb.add_option("FILE", to.files, "Measured rows in CSV; without it, the published ones of orch");
  add_format(verb, to.common, {"table", "md", "csv", "json", "svg"});
  verb.add_option("--cluster", to.cluster, "For rows whose site is none of our clusters");
  verb.add_option("--calibrate", to.calibrate, "What is fitted before it is held against rows")
      ->check(one_of({"none", "datasheet", "first", "loto", "loso"}))
      ->capture_default_str();
  add_list(verb, "--without", to.without, "Leave this ingredient of estimates out (repeatable)",
           "NAME");
  verb.add_flag("--rows", to.rows, "Every row, not only the worst");
  verb.add_option("--by", to.by,
                  "Nothing but scores: of sources, of their tables, of sizes of models")
      ->check(one_of({"source", "table", "size"}));
  verb.add_option("--table", to.table, "Only rows whose source/table this expression finds")
      ->type_name("REGEX");
  verb.add_option("--tolerance", to.tolerance,
                  "Leave with code 7 where the mean error is larger, in percent")
      ->check(positive_number());
}

void declare_calibrate(CLI::App& verb, app::CalibrateArguments& to) {
  auto* from = verb.add_option(
      "--from", to.files,
      "CSV files of measured runs, logs, run folders (default: the published ones)");
  verb.add_option("--cluster", to.cluster, "For rows whose site is no cluster of ours");
  auto* output = verb.add_option("-o,--output", to.output, "Write the cluster file here (.yaml)");
  auto* stacks = verb.add_option(
      "--stacks", to.stacks, "Fit the factors of stacks too, and write them into this stacks.yaml");
  auto* write =
      verb.add_flag("--write", to.write, "Write the constants into the cluster's own file")
          ->excludes(output);
  verb.add_option("--only", to.only, "Fit these clusters; the others are as they are");
  auto* fresh =
      verb.add_flag("--fresh", to.fresh, "Start from datasheets, not from what was fitted before");
  auto* here = verb.add_flag("--this-machine", to.this_machine,
                             "Measure the machine at hand, as the cluster `local`")
                   ->excludes(from)
                   ->excludes(stacks)
                   ->excludes(write)
                   ->excludes(fresh);
  verb.add_option("--ranks", to.ranks, "With --this-machine: processes that measure together")
      ->check(whole_number(1, 1024))
      ->needs(here);
  add_format(verb, to.common, {"table", "md", "csv", "json"});
}

}  // namespace orch::cli
