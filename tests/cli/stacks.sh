#!/bin/bash
# The software stacks that estimates know: listed, named, selected, and compared with the diary that
# they come from.
# shellcheck source=lib.sh
. "$(dirname -- "$0")/lib.sh"

orch backends stacks
exits 0 'backends stacks'
line=$(grep '^hf-deepspeed-2022 ' <<<"$out" | tr -s ' ')
has "$line" '2022-01 deepspeed/framework' 'a stack has its date and strategies'
has "$line" ' 15 2 to 32 7.069B a100-80g' 'and its rows, with the GPU that they ran on'
orch backends stacks --format json
same 'hf-deepspeed-2022 15 a100-80g' \
  "$(jq -r '(.stacks[] | select(.name | startswith("hf-")) | "\(.name) \(.rows)") + " " + .stack_gpus[0].gpu' <<<"$(jq '.stack_gpus |= map(select(.stack | startswith("hf-")))' <<<"$out")")" 'as JSON'
orch backends stacks --format md
has "$out" '| hf-deepspeed-2022 |' 'as Markdown'

# The user's own stack, beside the experiment.
printf 'mine:\n  like: deepspeed-2022\n  date: "2026-01"\n  factors: { gemm: { value: 0.5, origin: "our own" } }\n' >stacks.yaml
orch backends stacks
has "$out" 'mine ' 'a stacks.yaml beside the experiment'
rm stacks.yaml

# The diary of bloom-7b had 19 days with DeepSpeed 1 and 256 accumulated micro-batches on 48 A100.
cat >diary.lua <<'LUA'
return experiment {
  name = "diary",
  model = preset("bloom-7b", { seq = 1024 }),
  hardware = { cluster = "jean-zay", partition = "a100-80g", gpus = 48 },
  batch = { micro_batch = 2, accumulate = 256 },
  tokens = 100e9,
  strategies = { deepspeed { stage = 1, engine = "framework", recompute = "none", flash_attention = false } },
}
LUA
orch plan diary.lua
has "$(grep '^How sure' <<<"$out")" 'as hf-deepspeed-2022 had it here: 19.1 days' 'the diary is named'
orch plan diary.lua --format json
same true "$(jq '.runs[0] | .days_low < 19 and .days_high > 19' <<<"$out")" 'and inside the range'
orch explain diary.lua
has "$out" 'how far its rows are (machine, sizes, settings, date): deepspeed-2022' 'explain shows the choice'
orch plan diary.lua --set 'stack="hf-deepspeed-2022"'
has "$out" '100B tokens in 19.1 days' 'the stack that is named'

# The shipped file agrees with its diary: DeepSpeed 1 is best, and its estimate equals the
# measurement.
orch plan "$ORCH_HOME/experiments/bloom7b_days.lua" --top 0
has "$(grep '^Answer' <<<"$out")" 'deepspeed (stage=1' 'bloom7b_days: the answer of the diary'
orch plan "$ORCH_HOME/experiments/bloom7b_days.lua" --format json
# takes DAYS GPUS: DeepSpeed 1 with 256 accumulated micro-batches, within a quarter of the diary's days.
takes() {
  same true "$(jq --argjson days "$1" --argjson gpus "$2" '[.runs[] | select(.strategy == "deepspeed" and
    .stage == 1 and .accumulate == 256 and .gpus == $gpus) | .days_to_train / $days] | .[0] > 0.75 and .[0] < 1.25' \
    <<<"$out")" "bloom7b_days: $1 days on $2 GPUs"
}
takes 19 48
takes 29 32
takes 57 16

# Megatron on 64 V100 took 125 to 129 s, ZeRO-3 with full offload 118 to 140 s for half of this batch (jz-v100-0022,
# 0024, 0042, 0044): the first is best, and both fit.
orch plan "$ORCH_HOME/experiments/gpt2_v100.lua" --where 'model=="gpt-48b"' --format json
seconds() { jq "[.runs[] | select($1) | select(.fit != \"oom\") | .step_seconds | round] | .[0]" <<<"$out"; }
within() {
  if ! [ "$2" -ge "$3" ] 2>/dev/null || [ "$2" -gt "$4" ]; then bad "$1: $2, not $3 to $4"; fi
}
within 'gpt2_v100: Megatron' "$(seconds '.strategy == "megatron" and .pipeline_parallel == 16 and .micro_batch == 4')" 119 135
within 'gpt2_v100: ZeRO-3' "$(seconds '.strategy == "zero3" and .micro_batch == 8 and .offload == "full"')" 236 280
same megatron "$(jq -r '.runs[0].strategy' <<<"$out")" 'gpt2_v100: the answer of the diary'

# jz-1b3-0012 and 0001: 23 s without recomputation, the fastest of all, and 29 s with it.
orch plan "$ORCH_HOME/experiments/gpt1b3_v100.lua" --format json
flat='.partition == "v100-32g" and .tensor_parallel == 1 and .pipeline_parallel == 1 and .micro_batch == 1'
within 'gpt1b3_v100: nothing recomputed' "$(seconds "$flat and .recompute == \"none\"")" 21 25
within 'gpt1b3_v100: all recomputed' "$(seconds "$flat and .recompute == \"full\"")" 27 31
same 'none 1 1' "$(jq -r '.runs[0] | "\(.recompute) \(.tensor_parallel) \(.pipeline_parallel)"' <<<"$out")" \
  'gpt1b3_v100: the answer of the diary'

# "Within the fitted rows" is printed only if a stack's rows on the machine had the setting: those of DeepSpeed on V100
# had activations on the host and on the GPU, those of Megatron-DeepSpeed there summed in fp32 and on A100 recomputed all.
cat >rows.lua <<'LUA'
return experiment {
  name = "rows", model = "gpt-13b", tokens = 1e9,
  hardware = { cluster = "jean-zay", partition = { "v100-32g", "a100-80g" }, gpus = 64 },
  batch = { global_batch = 512, micro_batch = 1 },
  strategies = {
    zero3 { engine = "framework", dtype = "fp16", recompute = "full", offload_activations = { true, false } },
    megatron { engine = "deepspeed", dtype = "fp16", tensor_parallel = 4, pipeline_parallel = 2,
               recompute = { "full", "none" }, fp32_accumulate = { true, false } },
  },
}
LUA
orch plan rows.lua --format json
# lack PARTITION SETTING VALUE: the remark on runs with this value.
lack() {
  jq -r --arg on "$1" --arg name "$2" --arg value "$3" '[.runs[] | select(.partition == $on and
    (.[$name] | tostring) == $value) | (.remarks // "") | split("; ") | .[] | select(contains(" " + $name + " = "))] | unique | .[]' <<<"$out"
}
of='no row of megatron-deepspeed-2022 on this machine had'
for value in true false; do same '' "$(lack v100-32g offload_activations $value)" "V100: offload_activations = $value"; done
same '' "$(lack v100-32g fp32_accumulate true)" 'V100: fp32_accumulate = true'
same "$of fp32_accumulate = false" "$(lack v100-32g fp32_accumulate false)" 'V100: fp32_accumulate = false'
for value in true false; do same '' "$(lack a100-80g fp32_accumulate $value)" "A100: fp32_accumulate = $value"; done
same '' "$(lack a100-80g recompute full)" 'A100: recompute = full'
same "$of recompute = none" "$(lack a100-80g recompute none)" 'A100: recompute = none'

# jz-a100-0143 to 0145: 117 to 121 s; 0156: 124 s; 0154: 109 s.
orch plan "$ORCH_HOME/experiments/bloom176b_topology.lua" --format json
layout='.tensor_parallel == 4 and .pipeline_parallel == 12 and .micro_batch == 2'
within 'bloom176b_topology: 106 x 12288' "$(seconds "$layout and .model == \"gpt-106x12288\"")" 111 127
within 'bloom176b_topology: 94 x 13312' "$(seconds "$layout and .model == \"gpt-94x13312\"")" 118 130
within 'bloom176b_topology: 82 x 13312' "$(seconds "$layout and .model == \"gpt-82x13312\"")" 103 115

# pm-a100-0039 and 0041: 96 TFLOPs on 8 stages; 0044: 118 on 32. Deeper pipelines with larger micro-batches reach more.
orch plan "$ORCH_HOME/experiments/perlmutter_pp.lua" --format json
tflops() {
  jq "[.runs[] | select(.pipeline_parallel == $1 and .micro_batch == 2 and .flash_attention == false)
    | .tflops_per_gpu | round] | .[0]" <<<"$out"
}
within 'perlmutter_pp: 8 stages, TFLOPs' "$(tflops 8)" 91 101
within 'perlmutter_pp: 32 stages, TFLOPs' "$(tflops 32)" 104 132
