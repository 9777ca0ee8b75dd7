#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/cli/usage.h"
#include "core/cli/verbs.h"

namespace orch::cli {

bool wants_color(int descriptor) {
  const char* plain = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(descriptor) == 1 && !(plain && *plain) &&
         !(term && std::string_view(term) == "dumb");
}

tables::Screen screen() {
  tables::Screen screen;
  winsize size{};
  if (isatty(1) && ioctl(1, TIOCGWINSZ, &size) == 0) screen.width = size.ws_col;
  if (const char* columns = std::getenv("COLUMNS"))
    screen.width = std::strtoul(columns, nullptr, 10);
  // Nobody reads a table in fewer columns than this; it is rather cut off by the terminal.
  if (screen.width > 0) screen.width = std::max<std::size_t>(screen.width, 40);
  screen.color = wants_color(1);
  return screen;
}

void add_format(CLI::App* verb, Common& common, std::vector<std::string> formats) {
  common.screen = screen();
  verb->add_option("--format", common.format, "How to print")
      ->check(one_of(std::move(formats)))
      ->capture_default_str();
}

namespace {

void add_start(CLI::App* verb, std::string& start) {
  verb->add_option("--start", start, "The day the training begins, instead of the experiment's")
      ->check(date());
}

}  // namespace

void add_planning(CLI::App* verb, PlanArguments& to) {
  verb->add_option("FILE", to.file, "Experiment in Lua; - is stdin")->required();
  add_format(verb, to.common, {"table", "md", "csv", "json"});
  add_set(*verb, to.set);
  verb->add_option("--where", to.where, "Keep runs for which this Lua expression is true");
  verb->add_option("--top", to.top, "Rows of the table; 0 shows all")
      ->check(whole_number(0, 1e9))
      ->capture_default_str();
  add_start(verb, to.start);
  verb->add_option("--max-runs", to.max_runs, "Refuse to expand more runs than this")
      ->check(whole_number(1, 1e9))
      ->capture_default_str();
}

namespace {

void add_plan(CLI::App& program, PlanArguments& to) {
  auto* verb = program.add_subcommand("plan", "Expand, check and estimate; write nothing");
  add_planning(verb, to);
  verb->footer(R"(
--set changes a field before the experiment is read, as if the file said so. A path goes by fields, with
a position or a strategy's name in lists; a bare word is a text, several values with commas are a list,
and quotes or braces make it Lua:
  --set hardware.nodes=16,32,48 --set strategies.fsdp.micro_batch=4 --set model.1.seq=4096
  --set 'training.split="90,5,5"' --set budget=nil

Examples:
  orch plan experiments/200b.lua --top 5
  orch plan experiments/200b.lua --set hardware.nodes=16,32,48
  sed s/jean-zay/ours/ experiments/200b.lua | orch plan -
  orch plan experiments/200b.lua --format json | jq '.rejected[].reasons[].fact')");
}

void add_search(CLI::App& program, SearchArguments& to) {
  auto* verb =
      program.add_subcommand("search", "The best layout of all that can be, without lists");
  verb->add_option("FILE", to.file, "Experiment in Lua; - is stdin")->required();
  add_format(verb, to.common, {"table", "md", "csv", "json"});
  add_set(*verb, to.set);
  verb->add_option("--keep", to.keep, "Keep the experiment's own values of this field (repeatable)")
      ->allow_extra_args(false)
      ->type_name("FIELD");
  verb->add_option("--open", to.open, "Try every value of this field, or of all (repeatable)")
      ->allow_extra_args(false)
      ->type_name("FIELD");
  verb->add_option("--where", to.where, "Only what this Lua expression is true for");
  verb->add_option("--top", to.top, "Layouts in the list")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  verb->add_option("--threads", to.threads, "Threads; 0: one for each core")
      ->check(whole_number(0, 1024))
      ->capture_default_str();
  verb->add_option("--write", to.write, "Write the best as an experiment to this file");
  verb->footer(R"(
Model, hardware, batch, constraints, budget and strategies are the experiment's. Open are the fields
of the layout: tensor_parallel, pipeline_parallel, micro_batch, interleave, recompute, zero_stage,
stage, offload, sequence_parallel, stage_partition, sharding; data_parallel and accumulate follow.
Everything else stays as the experiment has it; lists in it are all tried.
A list has one row per layout, at its best settings. Shapes of a model are searched where the
experiment says so; a plan ignores it:
  search = { params = "176B", tolerance = 0.03, layers = { from = 60, to = 110 },
             hidden_multiple = 128, heads = { 64, 96, 112, 128 } }

Examples:
  orch search experiments/200b.lua
  orch search experiments/200b.lua --keep zero_stage --open flash_attention --top 5
  orch search experiments/search_176b.lua --where 'tensor_parallel <= 8' --write best.lua
  orch search experiments/200b.lua --open all --format json | jq '.best[0]')");
}

void add_explain(CLI::App& program, ExplainArguments& to) {
  auto* verb = program.add_subcommand(
      "explain", "Memory and time of one run, item by item, and what was measured of it");
  verb->add_option(
          "RUN", to.run,
          "Run id, its beginning or hash, a run folder, or FILE.lua (its best); - is stdin")
      ->required();
  add_format(verb, to.common, {"table", "md", "json"});
  add_set(*verb, to.set);
  verb->add_option("--where", to.where,
                   "With FILE.lua: the best of the runs for which this is true");
  add_start(verb, to.start);
  add_runs(*verb, to.runs);
  verb->footer(R"(
Of a run that was run it also shows each item as its trainer measured it, beside the estimate.

Examples:
  orch explain experiments/200b.lua
  orch explain experiments/200b.lua --where 'pipeline_parallel == 12'
  orch explain experiments/200b.lua --start 2026-12-01
  orch explain 3fa9c1d2)");
}

void add_probe(CLI::App& program, ProbeArguments& to) {
  auto* verb = program.add_subcommand(
      "probe", "Run one rank of each stage of a planned run alone, on this machine");
  verb->add_option("RUN", to.words,
                   "Run ids, their beginnings or hashes, run folders, or FILE.lua (its best)")
      ->required();
  add_format(verb, to.common, {"table", "md", "json"});
  add_set(*verb, to.set);
  verb->add_option("--where", to.where,
                   "With FILE.lua: the best of the runs for which this is true");
  add_runs(*verb, to.runs);
  verb->add_option("-o,--output", to.output, "Folder of what the slices write")
      ->capture_default_str();
  auto* prepare = verb->add_flag("--prepare", to.prepare,
                                 "Only write the slices, to be run on another machine");
  verb->add_flag("--show", to.show, "Only read what they wrote")->excludes(prepare);
  verb->footer(R"(
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
  orch probe experiments/200b.lua --show)");
}

}  // namespace

void add_planning_verbs(CLI::App& program, Arguments& to) {
  add_plan(program, to.plan);
  add_search(program, to.search);
  add_explain(program, to.explain);
  add_probe(program, to.probe);
}

}  // namespace orch::cli
