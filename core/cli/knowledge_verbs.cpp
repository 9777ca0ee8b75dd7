#include "core/cli/usage.h"
#include "core/cli/verbs.h"

namespace orch::cli {

void declare_backends(CLI::App& verb, app::ListArguments& to) {
  verb.add_option("NAME", to.name, "Only this strategy or backend, training, frameworks or stacks");
  add_format(verb, to.common);
}

void declare_clusters(CLI::App& verb, app::ListArguments& to) {
  verb.add_option("NAME", to.name, "Only this cluster, in full");
  add_format(verb, to.common);
}

void declare_models(CLI::App& verb, app::ModelArguments& to) {
  verb.add_option("NAME", to.name, "Only this model, with its parts");
  add_format(verb, to.common);
  verb.add_option("--tensor-parallel", to.tensor_parallel, "Number of ranks that split each layer")
      ->check(whole_number(1, 65536));
  verb.add_option("--pipeline-parallel", to.pipeline_parallel, "Number of pipeline stages")
      ->check(whole_number(1, 65536));
  verb.add_option("--bytes-per-param", to.bytes_per_param,
                  "Bytes per parameter: weights, gradients, optimizer")
      ->check(positive_number())
      ->capture_default_str();
  verb.add_option("--params", to.params, "Number of parameters, instead of a model")
      ->check(positive_number());
  verb.add_option("--tokens", to.tokens, "Number of tokens to train on")->check(positive_number());
  verb.add_option("--tflops", to.tflops, "TFLOPs per GPU")->check(positive_number());
  verb.add_option("--gpus", to.gpus, "Number of GPUs")->check(positive_number());
}

void declare_validate(CLI::App& verb, app::ValidateArguments& to) {
  verb.add_option("FILE", to.files, "Measured rows in CSV; without it, the published ones of orch");
  add_format(verb, to.common, {"table", "md", "csv", "json", "svg"});
  verb.add_option("--cluster", to.cluster, "Cluster for rows whose site is not a known cluster");
  verb.add_option("--calibrate", to.calibrate,
                  "How constants are calibrated before estimates are compared with rows")
      ->check(one_of({"none", "datasheet", "first", "loto", "loso"}))
      ->capture_default_str();
  add_list(verb, "--without", to.without, "Item to leave out of the estimates (repeatable)",
           "NAME");
  verb.add_flag("--rows", to.rows, "List every row, not only the worst");
  verb.add_option("--by", to.by, "Only scores: by source, by table, or by size of the model")
      ->check(one_of({"source", "table", "size"}));
  verb.add_option("--table", to.table,
                  "Only rows whose source/table matches this regular expression")
      ->type_name("REGEX");
  verb.add_option("--tolerance", to.tolerance,
                  "Exit with code 7 if a mean error is larger than this, in percent")
      ->check(positive_number());
  verb.add_flag("--tune", to.tune,
                "Instead of errors: the measurements that orch tune would need among the rows");
}

void declare_calibrate(CLI::App& verb, app::CalibrateArguments& to) {
  auto* from = verb.add_option(
      "--from", to.files,
      "CSV files of measured runs, logs, run folders (default: the published ones); with "
      "--failures output of sacct, run folders (default: your own jobs in sacct)");
  verb.add_option(
      "--cluster", to.cluster,
      "Cluster for rows whose site is not a known cluster; with --failures the cluster, "
      "or CLUSTER/PARTITION");
  auto* output = verb.add_option("-o,--output", to.output, "Write the cluster file here (.yaml)");
  auto* stacks = verb.add_option(
      "--stacks", to.stacks, "Fit the factors of stacks too, and write them into this stacks.yaml");
  auto* write =
      verb.add_flag("--write", to.write, "Write the constants into the cluster's own file")
          ->excludes(output);
  auto* only = verb.add_option("--only", to.only, "Fit only these clusters");
  auto* fresh =
      verb.add_flag("--fresh", to.fresh, "Start from datasheets, not from what was fitted before");
  auto* here = verb.add_flag("--this-machine", to.this_machine,
                             "Measure this machine, as the cluster `local`")
                   ->excludes(from)
                   ->excludes(stacks)
                   ->excludes(write)
                   ->excludes(fresh);
  verb.add_flag("--failures", to.failures,
                "Learn how often the machine fails, and the wait in its queue")
      ->excludes(here)
      ->excludes(stacks)
      ->excludes(only)
      ->excludes(fresh);
  verb.add_option("--ranks", to.ranks,
                  "With --this-machine: number of processes that measure together")
      ->check(whole_number(1, 1024))
      ->needs(here);
  add_format(verb, to.common);
}

}  // namespace orch::cli
