// The one list of verbs.
#include "core/cli/verbs.h"

#include "core/cli/usage.h"

namespace orch::cli {
namespace {

constexpr const char* kRuns = "Runs";
constexpr const char* kPlans = "Plans and estimates";
constexpr const char* kRecords = "Results";
constexpr const char* kKnowledge = "What estimates stand on";
constexpr const char* kMaterial = "Data and weights";
constexpr const char* kProgram = "This program";
constexpr const char* kOwn = "";

}  // namespace

std::vector<Verb> verbs() {
  return {
      verb("run", kRuns, "Plan, estimate, submit, follow, compare", R"(
Runs that fit are submitted: to SLURM, those that ask for the same as one array, phases of a ramp-up
as jobs that wait for each other; or to this machine, where the cluster's file says launch: local.
Same file, same runs: what is finished or on its way is not submitted again. Ctrl-C only leaves.
Before the first run on the cluster `local`, this machine is measured (some 10 s), if orch-measure is
built: see orch calibrate --this-machine.

Examples:
  orch run experiments/200b.lua
  orch run experiments/200b.lua --take 3 -y --detach
  orch run experiments/bloom7b_days.lua --format md > table.md
  orch run experiments/200b.lua --where 'tensor_parallel == 8 and fit == "fits"' --dry-run)",
           declare_run, app::run_command),
      verb("status", kRuns, "How runs stand: state, reason, speed, estimate", R"(
Examples:
  orch status
  orch status 200b --format json | jq '.runs[] | select(.state == "failed") | .reason'

What needs a look comes first. CSV and JSON are one document for all experiments: "experiments" has
their GPU-hours, "runs" the runs of all of them. Exit code 4: some runs failed.)",
           declare_status, app::status_command),
      verb("watch", kRuns, "Follow runs live, submit again what may succeed", R"(
Examples:
  orch watch 200b
  orch watch 200b --look-only > changes.log

A live picture on a terminal, a line for each change elsewhere. Ctrl-C only leaves.)",
           declare_watch, app::watch_command),
      verb("logs", kRuns, "The log of a run", R"(
Examples:
  orch logs 3fa9c1d2 --follow
  orch logs 3fa9c1d2 --rank 5 --lines 0

Control characters are shown as \xNN, not obeyed; attempts/<n>/stdout.log has the bytes.)",
           declare_logs, app::logs_command),
      verb("cancel", kRuns, "End runs", R"(
Examples:
  orch cancel 3fa9c1d2
  orch cancel 200b --stop -y)",
           declare_cancel, app::cancel_command),
      verb("resume", kRuns, "Submit what is unfinished, and follow it", R"(
Examples:
  orch resume 200b
  orch resume -y --detach

Unfinished is what was asked for and never submitted, what stopped with more to do, and what failed
for a passing reason (a node, preemption, NCCL, a hang, a job gone without a trace). First it finds
out what became of a submission that was interrupted; no run is submitted twice.)",
           declare_again, app::resume_command),
      verb("retry", kRuns, "Submit failed or cancelled runs again", R"(
Examples:
  orch retry 3fa9c1d2
  orch retry 200b -y --detach

Whatever the reason was, and with all its tries anew.)",
           declare_again, app::retry_command),
      verb("inspect", kRuns, "What each rank of a run is doing", R"(
Examples:
  orch inspect 3fa9c1d2

Last step and last collective of every rank (from its flight recorder), and of a run that is going on
the state and stack of its processes, through a step that overlaps the job's. Ranks that are behind
the others come first: those are the ones that a hang waits for.)",
           declare_inspect, app::inspect_command),
      verb("index", kRuns, "Make the index anew from the run folders", R"(
Examples:
  orch index
  orch index --runs /scratch/me/runs)",
           declare_index, app::index_command),
      verb("plan", kPlans, "Expand, check and estimate; write nothing", R"(
--set changes a field before the experiment is read, as if the file said so. A path goes by fields, with
a position or a strategy's name in lists; a bare word is a text, several values with commas are a list,
and quotes or braces make it Lua:
  --set hardware.nodes=16,32,48 --set strategies.fsdp.micro_batch=4 --set model.1.seq=4096
  --set 'training.split="90,5,5"' --set budget=nil

Examples:
  orch plan experiments/200b.lua --top 5
  orch plan experiments/200b.lua --set hardware.nodes=16,32,48
  sed s/jean-zay/ours/ experiments/200b.lua | orch plan -
  orch plan experiments/200b.lua --format json | jq '.rejected[].reasons[].fact')",
           declare_plan, app::plan_command),
      verb("search", kPlans, "The best layout of all that can be, without lists", R"(
Model, hardware, batch, constraints, budget and strategies are the experiment's. Open are the fields
of the layout: tensor_parallel, pipeline_parallel, micro_batch, interleave, recompute, zero_stage,
stage, offload, sequence_parallel, stage_partition, sharding; data_parallel and accumulate follow.
Everything else stays as the experiment has it; lists in it are all tried.
A list has one row per layout, at its best settings.
--open gpus tries numbers of GPUs up to all of the partition, each with all layouts: the fewest that fit, the fewest
that keep the budget, and the cheapest. --open params tries the model smaller and larger, in its proportions: the
largest that fits, and that keeps the budget. Each answer comes with its runner-up.
Shapes of a model are searched where the
experiment says so; a plan ignores it:
  search = { params = "176B", tolerance = 0.03, layers = { from = 60, to = 110 },
             hidden_multiple = 128, heads = { 64, 96, 112, 128 } }

Examples:
  orch search experiments/200b.lua
  orch search experiments/200b.lua --keep zero_stage --open flash_attention --top 5
  orch search experiments/200b.lua --open gpus --set budget.deadline_days=150
  orch search experiments/llama3_70b.lua --open params
  orch search experiments/search_176b.lua --where 'tensor_parallel <= 8' --write best.lua
  orch search experiments/200b.lua --open all --format json | jq '.best[0]')",
           declare_search, app::search_command),
      verb("explain", kPlans,
           "Memory and time of one run, item by item, and what was measured of it", R"(
Of a run that was run it also shows each item as its trainer measured it, beside the estimate.

Examples:
  orch explain experiments/200b.lua
  orch explain experiments/200b.lua --where 'pipeline_parallel == 12'
  orch explain experiments/200b.lua --start 2026-12-01
  orch explain 3fa9c1d2)",
           declare_explain, app::explain_command),
      verb("probe", kPlans, "Run one rank of each stage of a planned run alone, on this machine",
           R"(
The memory of a plan for 384 GPUs, measured on one before anything is asked of a queue: a rank of each
kind of stage trains for six steps as if the others were there and answered at once. Memory and
compute time stand beside the estimate, item by item. Communication is not in it.

Examples:
  orch probe experiments/200b.lua
  orch probe experiments/200b.lua --where 'pipeline_parallel == 12'
  orch probe 3fa9c1d2 --format json > probe.json; orch report probe.json
Where the GPU is elsewhere, with trainers that were built there (backends/build):
  orch probe experiments/200b.lua --prepare
  srun --gpus 1 probes/ID/run build/train-cuda/bin/orch-train-megatron
  orch probe experiments/200b.lua --show)",
           declare_probe, app::probe_command),
      verb("ingest", kRecords, "Logs of any framework as records", R"(
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
templates/logs/*.lua hold the patterns, templates/logs/README.md how to write another.)",
           declare_ingest, app::ingest_command),
      verb("compare", kRecords, "What differs, and what of it can be the reason", R"(
Examples:
  orch compare 09bef858 b7ba89f2
  orch compare b7b-0006 b7b-0003 b7b-0027
  orch compare --in bloom7b-days framework=ddp,gpus=8 framework=deepspeed,zero_stage=1,gpus=8
  orch compare yesterday.out today.out --cluster jean-zay --set gpu=a100-80g
  orch compare --in runs/200b strategy=fsdp strategy=deepspeed
  orch compare date=2026-11-01 date=2026-11-14

WHAT is a run (id, its beginning or hash), a log, a row of a published table, an experiment
  (FILE.lua or a name), a file of records, or a choice: strategy, date, commit, or
  field=value,field=value. Several records in one choice are repeats where all their fields agree.)",
           declare_compare, app::compare_command),
      verb("report", kRecords, "One HTML page of runs, measured and estimated", R"(
Examples:
  orch report experiments/200b.lua
  orch report gpt2-jz-v100 --open
  orch report slurm-4711.out slurm-4712.out --cluster jean-zay --set gpu=a100-80g -o july.html
  orch report experiments/200b.lua experiments/bloom7b_days.lua -o both.html
  orch report runs/200b --watch 30
  orch report experiments/200b.lua --format svg > days.svg

The page needs nothing else: no network, no server. --attach puts files into it as they are, with what
  may be secret in them. The published sources that come with orch:
  gpt2-jz-v100, bench-1b3, bloom7b-days, bloom-prequel, pp-perlmutter; each row beside its estimate.)",
           declare_report, app::report_command),
      verb("check", kRecords, "Runs against what their experiment expects of them", R"(
Examples:
  orch run nightly.lua -y && orch check nightly.lua
  orch check runs/nightly --format json

An experiment says what it expects: expect = { tokens_per_second = { value = 68000, below = 0.05 } }.
  Quantities: step_seconds, tokens_per_second, days_per_100b_tokens, tflops_per_gpu (by the megatron
  convention), peak_memory_bytes, host_memory_bytes, gpu_hours, last_loss; below and above are shares
  of the value. A list of such tables, each with where = "strategy=ddp,gpus=8", tells runs apart.
Leaves with 4 where a run fell short, failed, goes on, or does not say the quantity.)",
           declare_check, app::check_command),
      verb("backends", kKnowledge,
           "Strategies that the backends offer, the fields of training, frameworks, and stacks", R"(
Examples:
  orch backends
  orch backends deepspeed
  orch backends training
  orch backends frameworks
  orch backends stacks)",
           declare_backends, app::backends_command),
      verb("clusters", kKnowledge, "Clusters, or one with the origin of its numbers", R"(
Examples:
  orch clusters
  orch clusters jean-zay)",
           declare_clusters, app::clusters_command),
      verb("models", kKnowledge, "Model presets, their sizes and bytes per GPU", R"(
Examples:
  orch models
  orch models gpt-104b --tensor-parallel 4 --pipeline-parallel 32
  orch models --params 200e9 --tokens 300e9 --tflops 150 --gpus 350)",
           declare_models, app::models_command),
      verb("validate", kKnowledge, "Hold estimates against measured runs", R"(
Examples:
  orch validate
  orch validate mine.csv --cluster dgx-a100 --rows
  orch validate --format svg > predicted.svg
  orch validate mine.csv --format json | jq '.scores[].mape'
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
  be there; experiments/measured/*.csv show the others.)",
           declare_validate, app::validate_command),
      verb("calibrate", kKnowledge,
           "Fit a cluster's constants to measured runs, or measure this machine", R"(
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
  The columns of the rows: orch validate --help.)",
           declare_calibrate, app::calibrate_command),
      {"data", kMaterial, "Make and look at training data", R"(
Examples:
  orch data build book.txt -o data/book
  orch data show data/book)",
       [](CLI::App& verb) { verb.require_subcommand(1); }, nullptr},
      verb("data build", kMaterial, "Text to PREFIX.bin and PREFIX.idx", R"(
Examples:
  orch data build book.txt -o data/book
  orch data build wiki-*.jsonl -o data/wiki --tokenizer gpt2/tokenizer.json
  zcat pile.jsonl.gz | orch data build - --type jsonl -o data/pile --tokenizer tokenizer.json

The files are Megatron-LM's indexed dataset. A file of text is one document, a line of .jsonl another.
  Splits for validation are by documents: --split-lines makes many of one file.
  The index comes last: whoever finds PREFIX.idx finds all of it.
Byte-level BPE is understood (GPT-2, BLOOM, Llama 3, Qwen); the byte tokenizer has 257 tokens.)",
           declare_data_build, app::data_build_command),
      verb("data show", kMaterial, "What PREFIX.bin and PREFIX.idx hold; checks them", R"(
Examples:
  orch data show data/wiki
  orch data show data/book --tokenizer byte)",
           declare_data_show, app::data_show_command),
      verb("export", kMaterial, "Weights of a checkpoint for Hugging Face", R"(
Examples:
  orch export runs/tiny/gpt-ddp-4gpu-1a2b3c4d -o exported
  orch export runs/tiny/gpt-ddp-4gpu-1a2b3c4d/checkpoints/step-00000050 -o exported --dtype bf16

transformers' AutoModelForCausalLM.from_pretrained("exported") loads it: gpt as GPT-2, bloom as BLOOM,
  llama as Llama, with qkv_bias as Qwen2, with qk_norm as Qwen3. A tokenizer is not part of it.)",
           declare_export, app::export_command),
      verb("import", kMaterial, "Weights from Hugging Face as a checkpoint", R"(
Examples:
  orch import gpt2 -o gpt2-weights

The checkpoint has step 0 and weights alone; training = { init = "gpt2-weights" } begins with them.
  GPT-2, BLOOM, Llama, Mistral, Qwen2 and Qwen3, in one file or several, in f32, f16, bf16 or f64.)",
           declare_import, app::import_command),
      verb("doctor", kProgram, "What this machine has, and how to get the rest", R"(
Examples:
  orch doctor
  orch doctor --format json)",
           declare_doctor, app::doctor_command),
      verb("completion", kProgram, "Completion for a shell", R"(
Examples:
  orch completion bash >> ~/.bash_completion
  orch completion fish > ~/.config/fish/completions/orch.fish)",
           declare_completion, completion_command),
      verb("help", kProgram, "Help for a verb, as VERB --help", R"(
Examples:
  orch help run
  orch help --man | man -l -)",
           declare_help, help_command),
      {"version", kProgram, "The version, as --version", "", [](CLI::App&) {},
       [](const CLI::App&, app::Console& console) -> app::Ending {
         console.print("orch " ORCH_VERSION "\n");
         return app::Exit::ok;
       }},
      verb("_local", kOwn, "", "", declare_supervise, app::supervise_command),
      verb("_offer", kOwn, "", "", declare_offer, offer_command),
  };
}

}  // namespace orch::cli
