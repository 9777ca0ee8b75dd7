#include "core/app/priced_script.h"
#include "core/base/text.h"
#include "core/plan/run_fields.h"
#include "core/plan/training.h"
#include "tests/app/desk.h"

using namespace orch;
using app::Exit;

namespace {

CommandOutput priced(const Desk& desk, const fs::path& file, const app::PriceArguments& more = {},
                     const std::string& format = "table") {
  auto arguments = more;
  arguments.script = file.string();
  arguments.common.format = format;
  return desk(app::price_command, arguments);
}

// core/decisions and NOTES of the frameworks: the job of BLOOM, shortened to what is read.
constexpr const char* kBloom = R"(#!/bin/bash
#SBATCH --partition=gpu_p5
#SBATCH --constraint=a100
#SBATCH --nodes=48
#SBATCH --gres=gpu:8
#SBATCH --account=six@a100
NNODES=$SLURM_NNODES
MICRO_BATCH_SIZE=2
config_json="./ds_config.$SLURM_JOBID.json"
cat <<EOT > $config_json
{ "train_micro_batch_size_per_gpu": $MICRO_BATCH_SIZE, "train_batch_size": 2048,
  "zero_optimization": { "stage": 0 }, "bf16": { "enabled": true } }
EOT
GPT_ARGS=" --pp-partition-method 'type:transformer|embedding' --num-layers 70 --hidden-size 14336 \
  --num-attention-heads 112 --seq-length 2048 --micro-batch-size $MICRO_BATCH_SIZE \
  --rampup-batch-size 192 16 9_765_625 --global-batch-size 2048 --train-samples 220_000_000 \
  --tokenizer-type PretrainedFromHF --tokenizer-name-or-path bigscience/tokenizer \
  --train-weighted-split-paths-path data/train.txt \
  --init-method-std 0.0048 --embed-layernorm --bf16 --seed 42 --position-embedding-type alibi \
  --checkpoint-activations --pad-vocab-size-to 250880 --lr 6e-5 --min-lr 6e-6 \
  --lr-decay-style cosine --lr-decay-samples 200_000_000 --lr-warmup-samples 183_105 \
  --adam-beta2 0.95 --weight-decay 1e-1 "
export LAUNCHER="python -m torch.distributed.run --nproc_per_node 8 --nnodes $NNODES"
export CMD=" pretrain_gpt.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 12 \
  $GPT_ARGS --deepspeed --deepspeed_config ${config_json} --zero-stage 0"
echo $CMD
srun --jobid $SLURM_JOBID bash -c "$LAUNCHER --node_rank \$SLURM_PROCID $CMD" 2>&1 | tee log
)";

constexpr const char* kMegatron =
    "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 24 --hidden-size 2048 "
    "--num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size "
    "2 "
    "--global-batch-size 64 --train-iters 1000 --lr 3e-4 --bf16 --tensor-model-parallel-size 2 "
    "--tokenizer-type GPT2BPETokenizer --mock-data --use-distributed-optimizer ";

// The run of a script.
plan::Run run_of(app::App& app, const app::PriceArguments& arguments) {
  const auto script = app::read_script(app, arguments);
  INFO((script ? std::string() : text(script.error())));
  REQUIRE(script);
  INFO(script->source.text);
  const auto planned = app.plan(script->source);
  INFO((planned ? std::string() : text(planned.error())));
  REQUIRE(planned);
  for (const auto& rejected : planned->rejected) INFO(text(rejected.reasons));
  REQUIRE(planned->runs.size() == 1);
  return planned->runs.front().run;
}

// A launch as a script: what `orch run` would start.
std::string script_of(const render::Launch& launch, const plan::Run& run, const fs::path& folder) {
  std::string out = "ORCH_RUN_FOLDER=" + shell_quote(folder.string()) + "\n";
  for (const auto& [name, word] : launch.environment)
    if (!word.expands) out += "export " + name + "=" + word.shell() + "\n";
  for (const auto& [name, meaning] : launch.needs)
    out += "export " + name + "=" + (name == "RUN_CLM" ? "run_clm.py" : "x") + "\n";
  for (const auto& [name, value] : run.job.environment)
    if (!run.job.expanded.contains(name)) out += "export " + name + "=" + shell_quote(value) + "\n";
  out += "srun -n " + std::to_string(run.gpus) + " -N " + std::to_string(run.nodes);
  for (const auto* words : {&launch.program, &launch.argv})
    for (const auto& word : *words) out += " \\\n  " + word.shell();
  return out + "\n";
}

// Fields that a launch line does not have, or has in another form.
bool is_elsewhere(const std::string& name) {
  return contains(
      {"experiment", "tokens", "steps", "paths_from", "stack", "trainer", "launch", "name",
       "keep_checkpoints", "tensorboard", "collective_timeout", "evaluate_batches", "data",
       "checkpoint_every", "split", "init_std", "seed", "log_every", "engine"},
      name);
}

}  // namespace

TEST_CASE("the job of BLOOM is priced as it ran", "[app][price]") {
  const Desk desk;
  const auto script = desk.file("tr11.slurm", kBloom);
  const auto said = priced(desk, script, {}, "json");
  INFO(said.notes << said.out);
  REQUIRE(said.exit == Exit::ok);
  const auto run = said.json()["runs"][0];
  CHECK(run["strategy"] == "megatron");
  CHECK(run["gpus"] == 384);
  CHECK(run["cluster"] == "jean-zay");
  CHECK(run["partition"] == "a100-80g");
  CHECK(run["tensor_parallel"] == 4);
  CHECK(run["pipeline_parallel"] == 12);
  CHECK(run["data_parallel"] == 8);
  CHECK(run["global_batch"] == 2048);
  CHECK(run["tokens"] == 220'000'000.0 * 2048);
  CHECK(run["recompute"] == "full");
  CHECK(run["zero_stage"] == 1);  // its bf16 optimizer shards, whatever --zero-stage says
  CHECK(run["stage_partition"] == "transformer|embedding");
  CHECK(run["fit"] == "fits");
  // tests/golden/framework_bloom has the same run written by hand, with launch_blocking.
  CHECK(run["days_to_train"].get<double>() == Approx(130).epsilon(0.1));
  CHECK(finding(said.json(), "assumed").find("jean-zay/a100-80g by the words for SLURM") == 9);
  CHECK(finding(said.json(), "ignored").empty());
}

// Those of Hugging Face and torchtitan start drivers of ours, which read run.json.
TEST_CASE("what a template renders is read back as the same run", "[app][price]") {
  const auto name = GENERATE(
      as<std::string>(), "framework_megatron_lm", "framework_megatron_lm_old",
      "framework_megatron_modules", "framework_megatron_offload", "framework_megatron_fsdp",
      "framework_megatron_experts", "framework_megatron_context", "framework_megatron_llama",
      "framework_bloom", "framework_megatron_deepspeed");
  CAPTURE(name);
  const Desk desk;
  const auto app = app::App::create();
  REQUIRE(app);
  const auto planned = (*app)->plan(ORCH_SOURCE_DIR "/tests/golden/" + name + "/experiment.lua");
  REQUIRE(planned);
  REQUIRE(planned->runs.size() == 1);
  const auto& run = planned->runs.front().run;
  const auto launch = (*app)->frameworks().launch(run);
  REQUIRE(launch);
  for (const auto& file : launch->files) desk.file(file.name, file.text);
  app::PriceArguments arguments;
  arguments.script = desk.file("job.sh", script_of(*launch, run, desk.root())).string();
  arguments.on = run.cluster->name + "/" + run.partition->name;
  arguments.framework = run.framework;
  const auto again = run_of(**app, arguments);
  CHECK(again.strategy->name == run.strategy->name);
  REQUIRE(again.batch.rampup.has_value() == run.batch.rampup.has_value());
  for (const auto& field : plan::run_fields()) {
    if (field.section == "rampup" && !run.batch.rampup) continue;
    if (is_elsewhere(field.param.name) || field.section == "job") continue;
    INFO(field.section << "." << field.param.name);
    CHECK(plan::show(get(again, field)) == plan::show(get(run, field)));
  }
  for (std::size_t i = 0; i < run.settings.size() && again.strategy == run.strategy; ++i) {
    const auto& setting = run.strategy->params[i].name;
    // Its version sums bf16 gradients in fp32, whatever the setting.
    if (name == "framework_megatron_lm_old" && setting == "fp32_accumulate") continue;
    if (is_elsewhere(setting)) continue;
    INFO(run.strategy->params[i].name);
    CHECK(plan::show(again.settings[i]) == plan::show(run.settings[i]));
  }
  for (const auto& field : plan::training_fields()) {
    if (is_elsewhere(field.param.name)) continue;
    INFO(field.param.name);
    CHECK(plan::show(get(again.training, field)) == plan::show(get(run.training, field)));
  }
}

TEST_CASE("what is missing is asked for by name, all at once", "[app][price]") {
  const Desk desk;
  const auto said = priced(desk, desk.file("x.sh", "python pretrain_gpt.py --num-layer 24 --bf16"));
  CHECK(said.exit == Exit::invalid_experiment);
  CHECK(said.out.empty());
  for (const auto* part :
       {"the number of layers is not in it\n  --set model.layers=…", "--set model.vocab=…",
        "--gpus N", "--set batch.micro_batch=…", "--set tokens=300e9", "--on CLUSTER/PARTITION",
        "1 flag not understood: --num-layer (did you mean --num-layers?)"}) {
    INFO(said.notes);
    CHECK(said.notes_have(part));
  }
}

TEST_CASE("variables, machine and fields can be given", "[app][price]") {
  const Desk desk;
  auto text = std::string(kMegatron);
  text.replace(text.find("--num-layers 24"), 15, "--num-layers $LAYERS");
  const auto script = desk.file("x.sh", text);
  app::PriceArguments more;
  more.on = "dgx-a100";
  const auto unset = priced(desk, script, more);
  CHECK(unset.notes_have(
      "--num-layers: $LAYERS is not set in the script\n  give it: --var NAME=VALUE"));
  more.variables = {"LAYERS=24"};
  more.set = {"batch.micro_batch=1"};
  more.gpus = 32;
  const auto said = priced(desk, script, more, "json");
  INFO(said.notes << said.out);
  REQUIRE(said.exit == Exit::ok);
  const auto run = said.json()["runs"][0];
  CHECK(run["layers"] == 24);
  CHECK(run["micro_batch"] == 1);
  CHECK(run["gpus"] == 32);
  CHECK(run["cluster"] == "dgx-a100");
  CHECK(run["tokens"] == 1000.0 * 64 * 2048);
  more.variables = {"3=4"};
  CHECK(priced(desk, script, more).notes_have("--var 3=4: it is not NAME=VALUE"));
}

TEST_CASE("flags that were not understood are named, and faster flags are shown", "[app][price]") {
  const Desk desk;
  const auto script =
      desk.file("x.sh", std::string(kMegatron) +
                            "--recompute-granularity full --recompute-method uniform "
                            "--recompute-num-layers 1 --made-up 3 --use-flash-atn\n");
  app::PriceArguments more;
  more.on = "dgx-a100";
  more.write = (desk.root() / "x.lua").string();
  const auto said = priced(desk, script, more);
  INFO(said.notes << said.out);
  REQUIRE(said.exit == Exit::ok);
  CHECK(said.has("x.sh, line 1: pretrain_gpt.py, read as megatron-lm@0.19"));
  CHECK(said.has("2 flags ignored: --made-up, --use-flash-atn (did you mean --use-flash-attn?)"));
  CHECK(said.has("Faster on the same GPUs"));
  // All of a layer is computed again although the memory is hardly used.
  CHECK(said.has("without --recompute-method, --recompute-num-layers"));
  const auto written = read_file(more.write);
  REQUIRE(written);
  app::PlanArguments plan;
  plan.source.file = more.write;
  plan.options.runs = desk.runs();
  plan.common.format = "json";
  const auto planned = desk(app::plan_command, plan);
  REQUIRE(planned.exit == Exit::ok);
  CHECK(planned.json()["runs"][0]["framework"] == "megatron-lm@0.19");
  desk.file("mine.lua", "-- mine");
  more.write = (desk.root() / "mine.lua").string();
  CHECK(priced(desk, script, more).notes_have("exists already, and not written by orch price"));
}

TEST_CASE("a configuration that is not at hand is an error of its own", "[app][price]") {
  const Desk desk;
  app::PriceArguments more;
  more.on = "dgx-a100";
  more.gpus = 8;
  const std::string line =
      "deepspeed run_clm.py --model_type gpt2 --config_overrides n_layer=24,n_embd=2048,n_head=16 "
      "--block_size 2048 --bf16 --deepspeed ds.json --per_device_train_batch_size 1 "
      "--gradient_accumulation_steps 16 --max_steps 50 --gradient_checkpointing";
  const auto missing = priced(desk, desk.file("x.sh", line), more);
  CHECK(missing.notes_have("ds.json: the script names this file, and it is not at hand"));
  desk.file("ds.json",
            R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}})");
  const auto said = priced(desk, desk.file("x.sh", line), more, "json");
  INFO(said.notes << said.out);
  REQUIRE(said.exit == Exit::ok);
  const auto run = said.json()["runs"][0];
  CHECK(run["strategy"] == "deepspeed");
  CHECK(run["stage"] == 3);
  CHECK(run["offload"] == "optimizer");
  CHECK(run["global_batch"] == 128);
  CHECK(run["recompute"] == "full");
  desk.file("ds.json", "{");
  CHECK(priced(desk, desk.file("x.sh", line), more).notes_have("ds.json: not a JSON object"));
}

TEST_CASE("known models are found by their names, unknown ones asked for", "[app][price]") {
  const Desk desk;
  app::PriceArguments more;
  more.on = "dgx-h100";
  const std::string line =
      "accelerate launch --num_processes 16 run_clm.py --model_name_or_path meta-llama/%s "
      "--block_size 4096 --bf16 --fsdp 'full_shard auto_wrap' --per_device_train_batch_size 1 "
      "--gradient_accumulation_steps 4 --max_steps 100";
  const auto with = [&](const std::string& name) {
    auto text = line;
    return desk.file("x.sh", text.replace(text.find("%s"), 2, name));
  };
  const auto said = priced(desk, with("Llama-2-7b-hf"), more, "json");
  INFO(said.notes << said.out);
  REQUIRE(said.exit == Exit::ok);
  const auto run = said.json()["runs"][0];
  CHECK(run["strategy"] == "fsdp");
  CHECK(run["model"] == "llama-2-7b");
  CHECK(run["global_batch"] == 64);
  CHECK(priced(desk, with("Llama-9-900b"), more)
            .notes_have("the sizes of 'meta-llama/Llama-9-900b' are not in it"));
}

TEST_CASE("torchtitan is read from its TOML and its flags, which win", "[app][price]") {
  const Desk desk;
  desk.file("run.toml",
            "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n"
            "seq_len = 8192\nsteps = 500\n[activation_checkpoint]\nmode = \"full\"\n");
  const auto script =
      desk.file("x.sh",
                "CONFIG_FILE=run.toml NGPU=8\ntorchrun --nproc_per_node ${NGPU} --nnodes 2 -m "
                "torchtitan.train --job.config_file ${CONFIG_FILE} --training.steps 1000\n");
  app::PriceArguments more;
  more.on = "dgx-h100";
  const auto said = priced(desk, script, more, "json");
  INFO(said.notes << said.out);
  REQUIRE(said.exit == Exit::ok);
  const auto run = said.json()["runs"][0];
  CHECK(run["strategy"] == "fsdp");
  CHECK(run["global_batch"] == 16);
  CHECK(run["recompute"] == "full");
  CHECK(run["tokens"] == 1000.0 * 16 * 8192);
}
