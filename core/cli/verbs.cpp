// The list of all verbs.
#include "core/cli/verbs.h"

#include "core/cli/usage.h"

namespace orch::cli {
namespace {

constexpr const char* kRuns = "Runs";
constexpr const char* kPlans = "Plans and estimates";
constexpr const char* kRecords = "Results";
constexpr const char* kKnowledge = "Basis of estimates";
constexpr const char* kMaterial = "Data and weights";
constexpr const char* kProgram = "This program";
constexpr const char* kOwn = "";

}  // namespace

std::vector<Verb> verbs() {
  return {
      verb("run", kRuns, "Plan, estimate, submit, follow, compare", R"(
Submits the runs that fit: to SLURM (runs with equal requests as one array, phases of a ramp-up as
dependent jobs), or to this machine where the cluster file says launch: local. The same file gives the
same runs: finished, queued and running ones are not submitted again. Ctrl-C stops orch, not the jobs.
Before the first run on the cluster `local` this machine is measured (about 10 s) if orch-measure is
built: see orch calibrate --this-machine.

Examples:
  orch run experiments/200b.lua
  orch run experiments/200b.lua --take 3 -y --detach
  orch run experiments/bloom7b_days.lua --format md > table.md
  orch run experiments/200b.lua --where 'tensor_parallel == 8 and fit == "fits"' --dry-run)",
           declare_run, app::run_command),
      verb("tune", kRuns, "Measure the most promising runs, until the best is known", R"(
Each measurement is a short job of one run of the experiment. It corrects the estimates of all others, more
so of layouts that are alike; the next is the run that is most likely to be faster than the best so far.
It ends when no run is expected to be faster by more than --regret. The runs are those of the experiment
NAME-tune: called again, tune continues with what is measured. Under SLURM a job measures several runs
with the same request one after another, each with a time limit; one that fails does not stop the others.

Examples:
  orch tune experiments/strategies.lua
  orch tune experiments/200b.lua --where 'tensor_parallel <= 8' --gpu-hours 500 -y
  orch search experiments/200b.lua --write best.lua && orch tune best.lua --measure 12 --write)",
           declare_tune, app::tune_command),
      verb("status", kRuns, "State of runs: reason, speed, estimate", R"(
Examples:
  orch status
  orch status 200b --format json | jq '.runs[] | select(.state == "failed") | .reason'

Runs that need attention come first. JSON is one document for all experiments: "experiments" has their
GPU-hours, "runs" all runs. Exits with 4 if some runs failed.)",
           declare_status, app::status_command),
      verb("watch", kRuns, "Follow runs live, and resubmit after transient failures", R"(
Examples:
  orch watch 200b
  orch watch 200b --look-only > changes.log

A live table on a terminal, elsewhere a line per change. Ctrl-C stops orch, not the jobs.)",
           declare_watch, app::watch_command),
      verb("logs", kRuns, "The log of a run", R"(
Examples:
  orch logs 3fa9c1d2 --follow
  orch logs 3fa9c1d2 --rank 5 --lines 0

Control characters are shown as \xNN; attempts/<n>/stdout.log has the bytes.)",
           declare_logs, app::logs_command),
      verb("cancel", kRuns, "End runs", R"(
Examples:
  orch cancel 3fa9c1d2
  orch cancel 200b --stop -y)",
           declare_cancel, app::cancel_command),
      verb("resume", kRuns, "Submit unfinished runs, and follow them", R"(
Examples:
  orch resume 200b
  orch resume -y --detach

Unfinished are runs that were never submitted, that stopped before their last step, or that had a
transient failure (node, preemption, NCCL, hang, lost job). orch first finds out what became of an
interrupted submission; no run is submitted twice.)",
           declare_again, app::resume_command),
      verb("retry", kRuns, "Submit failed or cancelled runs again", R"(
Examples:
  orch retry 3fa9c1d2
  orch retry 200b -y --detach

Whatever the reason of the failure, with a new count of retries.)",
           declare_again, app::retry_command),
      verb("inspect", kRuns, "What each rank of a run is doing", R"(
Examples:
  orch inspect 3fa9c1d2

Last step and last collective of every rank, from its flight recorder; while the run is going on, also
the state and stack of its processes, through an overlapping job step. Ranks that are behind come
first: a hang waits for those.)",
           declare_inspect, app::inspect_command),
      verb("index", kRuns, "Rebuild the index from the run folders", R"(
Examples:
  orch index
  orch index --runs /scratch/me/runs)",
           declare_index, app::index_command),
      verb("plan", kPlans, "Expand, check and estimate; write nothing", R"(
--set changes a field before the experiment is read, as if the file said so. A path is made of fields,
with a position or a strategy's name in lists; a bare word is a string, values with commas are a list,
and quotes or braces make it Lua:
  --set hardware.nodes=16,32,48 --set strategies.fsdp.micro_batch=4 --set model.1.seq=4096
  --set 'training.split="90,5,5"' --set budget=nil
Days with failures, cost, energy and CO2 follow from the `operation` of the cluster's file. In --where
they are days_with_failures, cost, energy_kwh and co2_kg, in a budget money, energy_kwh and co2_kg.

Examples:
  orch plan experiments/200b.lua --top 5
  orch plan experiments/200b.lua --set training.checkpoint_every=1000 --set budget.energy_kwh=4e5
  orch plan experiments/200b.lua --set hardware.nodes=16,32,48
  sed s/jean-zay/ours/ experiments/200b.lua | orch plan -
  orch plan experiments/200b.lua --format json | jq '.rejected[].fact')",
           declare_plan, app::plan_command),
      verb("search", kPlans, "Find the best layouts among all possible ones", R"(
Model, hardware, batch, constraints, budget and strategies are those of the experiment. All values are
tried of the fields of the layout: tensor_parallel, pipeline_parallel, micro_batch, interleave,
recompute, zero_stage, stage, offload, sequence_parallel, stage_partition, sharding; data_parallel and
accumulate follow. Other fields stay as in the experiment; of lists in it all values are tried.
A table has one row per layout, at its best settings.
--open gpus tries numbers of GPUs up to the whole partition, each with all layouts: the fewest that fit,
the fewest that keep the budget, and the cheapest. --open params scales the model down and up: the
largest that fits, and the largest that keeps the budget. Each answer comes with its runner-up.
Shapes of a model are searched where the experiment has a section `search` (plan ignores it):
  search = { params = "176B", tolerance = 0.03, layers = { from = 60, to = 110 },
             hidden_multiple = 128, heads = { 64, 96, 112, 128 } }

Examples:
  orch search experiments/200b.lua
  orch search experiments/200b.lua --keep zero_stage --open flash_attention --top 5
  orch search experiments/200b.lua --open gpus --set budget.deadline_days=150
  orch search experiments/llama3_70b.lua --open params
  orch search experiments/search_176b.lua --where 'tensor_parallel <= 8' --write best.lua
  orch search experiments/200b.lua --open all --format json | jq '.runs[0]')",
           declare_search, app::search_command),
      verb("price", kPlans, "Price a launch line or job script of another framework", R"(
Reads what people already have and executes none of it: a script for sbatch, or a single command, of
Megatron-LM, Megatron-DeepSpeed, Hugging Face's run_clm.py (with DeepSpeed, FSDP, accelerate) or
torchtitan (flags or TOML), started by srun, torchrun, deepspeed, accelerate or mpirun. Configurations are
read where they are at hand, or where the script writes them (cat <<END > ds.json).
Prints days, memory, whether it fits, and what would be faster on the same GPUs, with the flags that
change. A flag that was not understood is named. What is missing is asked for: --on for the machine,
--var for a variable of the script, --set for a field of the experiment.

Examples:
  orch price train.slurm
  orch price train.slurm --on dgx-h100 --gpus 64 --write train.lua
  orch price launch.sh --var NNODES=4 --set tokens=300e9
  grep -A40 torchrun train.sh | orch price - --on jean-zay/a100-80g)",
           declare_price, app::price_command),
      verb("explain", kPlans, "Memory and time of one run, item by item, estimated and measured",
           R"(
For a run that has run, each item is shown as measured beside the estimate.

Examples:
  orch explain experiments/200b.lua
  orch explain experiments/200b.lua --where 'pipeline_parallel == 12'
  orch explain experiments/200b.lua --start 2026-12-01
  orch explain 3fa9c1d2)",
           declare_explain, app::explain_command),
      verb("probe", kPlans, "Run one rank of each stage of a planned run alone, on this machine",
           R"(
Measures the memory of a plan for 384 GPUs on one GPU, before anything is queued: one rank of each kind
of stage trains six steps as if the other ranks answered at once. Prints memory and compute time beside
the estimate, item by item, without communication.

Examples:
  orch probe experiments/200b.lua
  orch probe experiments/200b.lua --where 'pipeline_parallel == 12'
  orch probe 3fa9c1d2 --format json > probe.json; orch report probe.json
On another machine, with trainers that were built there (backends/build):
  orch probe experiments/200b.lua --prepare
  srun --gpus 1 probes/ID/run build/train-cuda/bin/orch-train-megatron
  orch probe experiments/200b.lua --show)",
           declare_probe, app::probe_command),
      verb("ingest", kRecords, "Read logs of any framework", R"(
Examples:
  orch ingest slurm-4711.out
  orch ingest logs/ --cluster jean-zay --set gpu=v100-32g
  orch ingest old.out.gz --format json > old.json
  orch ingest logs/ --format csv > mine.csv && orch calibrate --from mine.csv -o clusters/mine.yaml
  orch ingest --csv experiments/measured/bloom-prequel.csv --format md

Reads logs of Megatron-LM and Megatron-Core, Megatron-DeepSpeed, DeepSpeed, GPT-NeoX, the Hugging Face
Trainer (also of MS-Swift and LLaMA-Factory), torchtitan, torchtune, nanotron, NeMo, OLMo, Composer,
MaxText, litgpt, nanoGPT and its relatives, llm.c, verl, fairseq and ColossalAI, MLPerf's lines, and
messages of SLURM, CUDA and NCCL; gzip, xz, zstd and bzip2 are unpacked. The step time is the median
after warm-up with its 95 % interval; the rule is printed, and assumed values have a star. --set takes
columns of the tables (tp, mbs) or names as in Lua (tensor_parallel, micro_batch). What the log of a run
folder does not have is taken from its run.json. With a cluster, a GPU and the size of the model each run
has an estimate beside it.
templates/logs/*.lua are the patterns; templates/logs/README.md says how to add a framework.)",
           declare_ingest, app::ingest_command),
      verb("compare", kRecords, "Compare runs, and find which differences can explain the result",
           R"(
Examples:
  orch compare 09bef858 b7ba89f2
  orch compare b7b-0006 b7b-0003 b7b-0027
  orch compare --in bloom7b-days framework=ddp,gpus=8 framework=deepspeed,zero_stage=1,gpus=8
  orch compare yesterday.out today.out --cluster jean-zay --set gpu=a100-80g
  orch compare --in runs/200b strategy=fsdp strategy=deepspeed
  orch compare date=2026-11-01 date=2026-11-14

WHAT is a run (id, its beginning or hash), a log, a row of a published table, an experiment (FILE.lua or
its name), a file of records, or a selection: a strategy, date or commit, or field=value,field=value.
Records of one selection are repeats if all their fields agree.)",
           declare_compare, app::compare_command),
      verb("report", kRecords, "Write one HTML page of runs, measured and estimated", R"(
Examples:
  orch report experiments/200b.lua
  orch report gpt2-jz-v100 --open
  orch report slurm-4711.out slurm-4712.out --cluster jean-zay --set gpu=a100-80g -o july.html
  orch report experiments/200b.lua experiments/bloom7b_days.lua -o both.html
  orch report runs/200b --watch 30
  orch report experiments/200b.lua --format svg > days.svg

The page is one file: it needs no network and no server. --attach includes files as they are, secrets
too. Published sources that come with orch, each row beside its estimate: gpt2-jz-v100, bench-1b3,
bloom7b-days, bloom-prequel, pp-perlmutter.)",
           declare_report, app::report_command),
      verb("check", kRecords, "Check runs against the expectations of their experiment", R"(
Examples:
  orch run nightly.lua -y && orch check nightly.lua
  orch check runs/nightly --format json

An experiment may have expectations: expect = { tokens_per_second = { value = 68000, below = 0.05 } }.
Quantities: step_seconds, tokens_per_second, days_per_100b_tokens, tflops_per_gpu (megatron convention),
peak_memory_bytes, host_memory_bytes, gpu_hours, last_loss; below and above are shares of the value. A
list of such tables, each with where = "strategy=ddp,gpus=8", has expectations for some of the runs.
Exits with 4 if a run is outside its expectation, failed, is not finished, or lacks the quantity.)",
           declare_check, app::check_command),
      verb("backends", kKnowledge,
           "List strategies and their parameters, training options, frameworks and stacks", R"(
Examples:
  orch backends
  orch backends deepspeed
  orch backends training
  orch backends frameworks
  orch backends stacks)",
           declare_backends, app::backends_command),
      verb("clusters", kKnowledge, "List clusters, or show one with the origin of its numbers", R"(
Examples:
  orch clusters
  orch clusters jean-zay)",
           declare_clusters, app::clusters_command),
      verb("models", kKnowledge, "List model presets, or show one with its bytes per GPU", R"(
Examples:
  orch models
  orch models gpt-104b --tensor-parallel 4 --pipeline-parallel 32
  orch models --params 200e9 --tokens 300e9 --tflops 150 --gpus 350)",
           declare_models, app::models_command),
      verb("validate", kKnowledge, "Compare estimates with measured runs", R"(
Examples:
  orch validate
  orch validate mine.csv --cluster dgx-a100 --rows
  orch validate --format svg > predicted.svg
  orch validate mine.csv --format json | jq '.scores[].mape'
  orch validate --calibrate loto --without 'LM head' --without bubble
  orch validate --calibrate loso --tune
  orch validate mine.csv --by source --tolerance 5
  orch validate mine.csv --by size --table 'nanotron.*tp<=8$'

--calibrate none uses clusters as shipped; datasheet uses only their datasheets; first scales by the
first row of each table; loto refits with each table left out in turn (or each fifth of the rows, where
a source has one or two tables); loso refits with each source left out.
--without takes the name of an operation, a block or an item of memory as orch explain prints it, or
alignment, bubble, communication, eras, memory-bound, partition (of layers over stages), recompute,
slowest stage, tiles; with loto the other constants are refitted. The errors show what the item is worth.
--by also prints recall (the share of runs out of memory that was predicted) and precision (the share of
predictions that was right). --tolerance checks the lines of --by, else the sources, without unexplained
rows (unexplained.csv, or with assumed sizes).
Columns may be in any order, and cells may be empty. Required are id, gpu, gpus, framework, layers and
hidden; experiments/measured/*.csv show the others.)",
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
  orch calibrate --failures --from sacct.txt runs/big --cluster jean-zay/a100-80g
  orch calibrate --failures --cluster mine --write

--failures counts failures of the machine in GPU-hours, and writes `failures`, `failure_count` and
`queue_wait` of the cluster's `operation` (docs/goodput.md). --from takes run folders and what this prints:
  SLURM_TIME_FORMAT=%s sacct -P -X -D -a --starttime 2026-01-01 \
    --format=JobID,JobIDRaw,Partition,State,Submit,Eligible,Start,End,NNodes,AllocTRES > sacct.txt
What is learned again replaces what was learned before: give all sources at once.
--this-machine takes about 10 s: matrix products, memory passes and all-reduces, with one process per
core (2 to 4) or GPU. It writes the cluster `local` for you and this machine to
XDG_DATA_HOME/orch/machines (~/.local/share), which replaces the shipped one.
Machines and software have separate constants. Without --stacks the factors of stacks.yaml are fixed and
the machine is fitted; with it, both are fitted, over all rows of all machines.
Two or three rows already help: constants that the rows do not determine stay close to the datasheet, or
to the previous fit. Unexplained rows (unexplained.csv) are not used. Columns: orch validate --help.)",
           declare_calibrate, app::calibrate_command),
      {"data", kMaterial, "Build and inspect training data", R"(
Examples:
  orch data build book.txt -o data/book
  orch data show data/book)",
       [](CLI::App& verb) { verb.require_subcommand(1); }, nullptr},
      verb("data build", kMaterial, "Convert text to PREFIX.bin and PREFIX.idx", R"(
Examples:
  orch data build book.txt -o data/book
  orch data build wiki-*.jsonl -o data/wiki --tokenizer gpt2/tokenizer.json
  zcat pile.jsonl.gz | orch data build - --type jsonl -o data/pile --tokenizer tokenizer.json

The files are an indexed dataset of Megatron-LM. A text file is one document, and so is each line of a
.jsonl file. Validation splits are by document: --split-lines makes each line of a text file one.
The index is written last: if PREFIX.idx exists, the dataset is complete.
Supported tokenizers: byte-level BPE (GPT-2, BLOOM, Llama 3, Qwen), and bytes (257 tokens).)",
           declare_data_build, app::data_build_command),
      verb("data show", kMaterial, "Check PREFIX.bin and PREFIX.idx, and show what is in them", R"(
Examples:
  orch data show data/wiki
  orch data show data/book --tokenizer byte)",
           declare_data_show, app::data_show_command),
      verb("export", kMaterial, "Convert a checkpoint for Hugging Face", R"(
Examples:
  orch export runs/tiny/gpt-ddp-4gpu-1a2b3c4d -o exported
  orch export runs/tiny/gpt-ddp-4gpu-1a2b3c4d/checkpoints/step-00000050 -o exported --dtype bf16

transformers' AutoModelForCausalLM.from_pretrained("exported") loads it: gpt as GPT-2, bloom as BLOOM,
llama as Llama, with qkv_bias as Qwen2, with qk_norm as Qwen3. The tokenizer is not included.)",
           declare_export, app::export_command),
      verb("import", kMaterial, "Convert weights from Hugging Face to a checkpoint", R"(
Examples:
  orch import gpt2 -o gpt2-weights

The checkpoint has step 0 and only weights; training = { init = "gpt2-weights" } starts from them.
Supported: GPT-2, BLOOM, Llama, Mistral, Qwen2 and Qwen3, in one file or several, in f32, f16, bf16 or
f64.)",
           declare_import, app::import_command),
      verb("doctor", kProgram, "Show what this machine has, and how to get what is missing", R"(
--nodes N (up to 64) submits a job of a few minutes that measures matrix products and memory of each GPU,
and all-reduces within each node and between each pair of nodes, and names what is slower than its like:
a GPU below 90 % of the median, a link below 75 %. It exits with 4 if there is such a node, or if the job
failed. The job is a run of the experiment doctor-CLUSTER-PARTITION; the program orch-measure must be
where the nodes see it.

Examples:
  orch doctor
  orch doctor --nodes 8 --on jean-zay/a100-80g --set 'hardware.account="abc@a100"'
  orch doctor --nodes 8 --on ours/h100-80g --write -y
  orch doctor --format json)",
           declare_doctor, app::doctor_command),
      verb("completion", kProgram, "Write the completion script of a shell", R"(
Examples:
  orch completion bash >> ~/.bash_completion
  orch completion fish > ~/.config/fish/completions/orch.fish)",
           declare_completion, completion_command),
      verb("help", kProgram, "Show the help of a verb, as VERB --help", R"(
Examples:
  orch help run
  orch help --man | man -l -)",
           declare_help, help_command),
      {"version", kProgram, "Print the version, as --version", "", [](CLI::App&) {},
       [](const CLI::App&, app::Console& console) -> app::Ending {
         console.print("orch " ORCH_VERSION "\n");
         return app::Exit::ok;
       }},
      verb("_local", kOwn, "", "", declare_supervise, app::supervise_command),
      verb("_offer", kOwn, "", "", declare_offer, offer_command),
  };
}

}  // namespace orch::cli
