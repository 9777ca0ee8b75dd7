#include "core/cli/usage.h"
#include "core/cli/verbs.h"

namespace orch::cli {
namespace {

void add_common(CLI::App* verb, RecordArguments& to) {
  verb->add_option("--set", to.set,
                   "What a log or a table does not say, name=value; of an experiment, path=value "
                   "(repeatable)")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  verb->add_option("--cluster", to.cluster, "Where logs and rows of no known site ran")
      ->type_name("NAME");
  verb->add_option("--patterns", to.patterns, "Patterns of another framework's logs (repeatable)")
      ->allow_extra_args(false)
      ->type_name("FILE.lua");
  verb->add_option("-o,--output", to.output, "A file instead of the terminal")->type_name("FILE");
  to.common.screen = screen();
}

void add_ingest(CLI::App& program, IngestArguments& to) {
  auto* verb = program.add_subcommand("ingest", "Logs of any framework as records");
  verb->add_option("PATH", to.records.words, "Logs, or folders of them; - is stdin")->required();
  verb->add_flag("--csv", to.csv, "The paths are tables of measurements");
  add_common(verb, to.records);
  add_format(verb, to.records.common, {"table", "md", "csv", "json"});
  verb->footer(R"(
Examples:
  orch ingest slurm-4711.out
  orch ingest logs/ --cluster jean-zay --set gpu=v100-32g
  orch ingest old.out.gz --format json > old.json
  orch ingest logs/ --format csv > mine.csv && orch calibrate --from mine.csv -o clusters/mine.yaml
  orch ingest --csv experiments/measured/bloom-prequel.csv --format md

It knows Megatron-LM and Megatron-Core, Megatron-DeepSpeed, DeepSpeed, GPT-NeoX, the Hugging Face
  Trainer, torchtitan, nanotron, NeMo, OLMo, Composer, MaxText and llm.c, and what SLURM, CUDA and NCCL
  say, by what stands in the lines; gzip, xz, zstd and bzip2 are unpacked. The time of a step is the
  median after warm-up, with its 95 % interval; the rule is told, and what is assumed has a star.
  --set takes columns of the tables (tp, mbs) or names as in Lua (tensor_parallel, micro_batch). What
  the log of a run folder does not say is taken from its run.json. With a cluster and a GPU there is
  an estimate beside each run.
templates/logs/*.lua hold the patterns, templates/logs/README.md how to write another.)");
}

void add_compare(CLI::App& program, CompareArguments& to) {
  auto* verb = program.add_subcommand("compare", "What differs, and what of it can be the reason");
  verb->add_option("WHAT", to.records.words, "Two or more; the others are held against the first")
      ->required();
  verb->add_option("--in", to.in, "Choose from this: a table, logs, a folder (repeatable)")
      ->allow_extra_args(false)
      ->type_name("PATH");
  add_runs(*verb, to.records.runs);
  verb->add_flag("--same-size", to.same_size, "Times as if all models had the first one's FLOPs");
  add_common(verb, to.records);
  add_format(verb, to.records.common, {"table", "md", "csv", "json"});
  verb->footer(R"(
Examples:
  orch compare 09bef858 b7ba89f2
  orch compare b7b-0006 b7b-0003 b7b-0027
  orch compare --in bloom7b-days framework=ddp,gpus=8 framework=deepspeed,zero_stage=1,gpus=8
  orch compare yesterday.out today.out --cluster jean-zay --set gpu=a100-80g
  orch compare --in runs/200b strategy=fsdp strategy=deepspeed
  orch compare date=2026-11-01 date=2026-11-14

WHAT is a run (id, its beginning or hash), a log, a row of a published table, an experiment, a file of
  records, or a choice: strategy, date, commit, or field=value,field=value. Several records in one
  choice are repeats where all their fields agree.)");
}

void add_report(CLI::App& program, ReportArguments& to) {
  auto* verb = program.add_subcommand("report", "One HTML page of runs, measured and estimated");
  verb->add_option("WHAT", to.records.words, "Experiments, runs, logs, tables, records")
      ->required();
  add_runs(*verb, to.records.runs);
  verb->add_option("--top", to.top,
                   "Rows on the terminal; 0 shows all (default: 20, all of a table)")
      ->check(whole_number(0, 1e9));
  verb->add_flag("--open", to.open, "Open it in the browser");
  verb->add_flag("--attach", to.attach,
                 "With the texts of the experiment's and the clusters' files");
  verb->add_option("--watch", to.watch,
                   "Write the page again every so many seconds while runs go on; it reloads itself")
      ->check(whole_number(1, 86400))
      ->type_name("SECONDS");
  add_common(verb, to.records);
  to.records.common.format = "html";
  add_format(verb, to.records.common, {"html", "md", "csv", "json", "svg"});
  verb->footer(R"(
Examples:
  orch report experiments/200b.lua
  orch report gpt2-jz-v100 --open
  orch report slurm-4711.out slurm-4712.out --cluster jean-zay --set gpu=a100-80g -o july.html
  orch report experiments/200b.lua experiments/bloom7b_days.lua -o both.html
  orch report runs/200b --watch 30
  orch report experiments/200b.lua --format svg > days.svg

The page needs nothing else: no network, no server. --attach puts files into it as they are, with what
  may be secret in them. The published sources that come with orch:
  gpt2-jz-v100, bench-1b3, bloom7b-days, bloom-prequel, pp-perlmutter; each row beside its estimate.)");
}

void add_check(CLI::App& program, CheckArguments& to) {
  auto* verb =
      program.add_subcommand("check", "Runs against what their experiment expects of them");
  verb->add_option("WHAT", to.records.words, "Experiments (FILE.lua or a name) or runs")
      ->required();
  add_runs(*verb, to.records.runs);
  add_common(verb, to.records);
  add_format(verb, to.records.common, {"table", "md", "csv", "json"});
  verb->footer(R"(
Examples:
  orch run nightly.lua -y && orch check nightly.lua
  orch check runs/nightly --format json

An experiment says what it expects: expect = { tokens_per_second = { value = 68000, below = 0.05 } }.
  Quantities: step_seconds, tokens_per_second, days_per_100b_tokens, tflops_per_gpu (by the megatron
  convention), peak_memory_bytes, host_memory_bytes, gpu_hours, last_loss; below and above are shares
  of the value. A list of such tables, each with where = "strategy=ddp,gpus=8", tells runs apart.
Leaves with 4 where a run fell short, failed, goes on, or does not say the quantity.)");
}

}  // namespace

void add_record_verbs(CLI::App& program, Arguments& to) {
  add_ingest(program, to.ingest);
  add_compare(program, to.compare);
  add_report(program, to.report);
  add_check(program, to.check);
}

}  // namespace orch::cli
