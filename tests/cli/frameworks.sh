#!/usr/bin/env bash
# shellcheck disable=SC2154,SC2016 # out, err and code are the library's; $NAMES are for the jobs
# Frameworks instead of our trainer: rendered files compared with published ones, the parts that are
# shown, and runs on this machine with a stand-in for the program.
# shellcheck source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$here/local.sh"
ln -s "$(command -v python3)" "$work/tools/python3"
for tool in timeout tail sed rm touch; do ln -s "$(command -v "$tool")" "$work/tools/$tool"; done

# argv_of FOLDER: all arguments of the command line in one string.
argv_of() {
  python3 -c 'import json, sys; print(" ".join(json.load(open(sys.argv[1]))["argv"]) + " ")' "$1/launch.json"
}

# --- the public job of BLOOM (bigscience-workshop/bigscience, train/tr11-176B-ml/tr11-176B-ml.slurm) ---
orch run "$here/../golden/framework_bloom/experiment.lua" --runs runs
exits 0 'bloom is planned'
folder=$(echo runs/framework_bloom/*-????????)
words=$(argv_of "$folder")
while read -r expected; do has "$words" "$expected " 'an argument of the public job'; done <<'END'
--tensor-model-parallel-size 4
--pipeline-model-parallel-size 12
--pp-partition-method type:transformer|embedding
--num-layers 70
--hidden-size 14336
--num-attention-heads 112
--seq-length 2048
--max-position-embeddings 2048
--micro-batch-size 2
--rampup-batch-size 192 16 9765625
--global-batch-size 2048
--tokenizer-type PretrainedFromHF
--init-method-std 0.0048
--embed-layernorm
--bf16
--seed 42
--position-embedding-type alibi
--checkpoint-activations
--abort-on-unmet-fused-kernel-constraints
--pad-vocab-size-to 250880
--optimizer adam
--adam-beta1 0.9
--adam-beta2 0.95
--adam-eps 1e-08
--lr 6e-05
--min-lr 6e-06
--lr-decay-style cosine
--clip-grad 1
--weight-decay 0.1
--exit-duration-in-mins 5990
--log-interval 1
--save-interval 100
--eval-interval 1000
--eval-iters 1
--num-workers 2
--valid-num-workers 0
--data-impl mmap
--distributed-backend nccl
--deepspeed
--zero-stage 0
--deepspeed-activation-checkpointing
END
has "$words" '--kill-switch-path $ORCH_ATTEMPT_FOLDER/kill-switch ' 'the way to save and leave'
python3 - "$folder" <<'END' || bad 'ds_config.json is that of the public job' "$(cat "$folder/ds_config.json")"
import json, sys
config = json.load(open(sys.argv[1] + "/ds_config.json"))
assert config == {"train_micro_batch_size_per_gpu": 2, "train_batch_size": 2048, "gradient_clipping": 1.0,
                  "zero_optimization": {"stage": 0}, "bf16": {"enabled": True}, "steps_per_print": 2000,
                  "wall_clock_breakdown": False}, config
words = json.load(open(sys.argv[1] + "/launch.json"))["argv"]
# Samples of whole steps, where the job says samples.
for flag, public, most in (("--train-samples", 220e6, 1e-5), ("--lr-warmup-samples", 183105, 1e-3)):
    assert abs(int(words[words.index(flag) + 1]) / public - 1) < most, flag
END
has "$(cat "$folder/start")" '--nproc_per_node=8 --nnodes="$WORLD_SIZE"' 'one torchrun per node'

# --- secrets
# ---------------------------------------------------------------------------------------------
cat >secret.lua <<'LUA'
return experiment {
  name = "secret", model = "gpt-tiny", hardware = { cluster = "local", gpus = 1 }, tokens = 1e6,
  strategies = { ddp { dtype = "fp32", framework = "torch", environment = { HF_TOKEN = expand "$HF_TOKEN" } } },
}
LUA
HF_TOKEN=hf_do_not_show_me orch run secret.lua --runs runs --dry-run
exits 0 'a secret by name'
lacks "$out$err" hf_do_not_show_me 'the plan shows no secret'
sed -i 's/expand "$HF_TOKEN"/"hf_do_not_show_me"/' secret.lua
orch plan secret.lua
exits 3 'a secret as it is'
lacks "$out$err" hf_do_not_show_me 'a refusal shows no secret'
has "$err" 'HF_TOKEN = expand "$HF_TOKEN"' 'a refusal says how'
sed -i 's/"hf_do_not_show_me"/expand "$HF_TOKEN"/' secret.lua

# --- on this machine, with a stand-in ------------------------------------------------------------------
# mine NAME BEHAVIOUR [WORDS]: a run of two ranks by the user's own program.
mine() {
  mkdir -p frameworks
  cat >frameworks/mine.lua <<LUA
return {
  versions = { "1.0", "1.1" },
  render = function()
    local _ = model.layers, model.hidden, model.heads, model.vocab, model.seq, settings.dtype
    return { program = { "bash" }, argv = { expand "\$MINE", "--layers", model.layers }, needs = { MINE = "my program" },
             environment = { FROM_TEMPLATE = "a 'b' \$HOME", OVER = "template" }, stop = { signal = "TERM" },
             version = { "bash", "-c", "echo 1.0.7" }, files = { ["mine.json"] = json { layers = model.layers } } }
  end,
}
LUA
  cat >"$1.lua" <<LUA
return experiment {
  name = "$1", model = "gpt-tiny", hardware = { cluster = "local", gpus = 2 }, batch = { global_batch = 8 }, tokens = 1e6,
  strategies = { ddp { dtype = "fp32", framework = "mine@1.0", args = { "--odd", "it's \$HOME" }, ${3:-}
    setup = "FROM_SETUP=here; export FROM_SETUP",
    environment = { MINE = expand "\$PROGRAM", OVER = "experiment", BELOW = expand "\$FROM_SETUP/x" } } },
}
LUA
  printf '%s\n' "$2" >program
}
export PROGRAM=$work/here/program

mine good 'printf "%s\n" "$RANK/$WORLD_SIZE" "$@" "$FROM_TEMPLATE" "$OVER" "$BELOW" >"$ORCH_ATTEMPT_FOLDER/rank.$RANK"
: >"$ORCH_ATTEMPT_FOLDER/finished"'
local_orch run good.lua --runs runs -y
exits 0 'a framework that finishes'
folder=$(echo runs/good/*-????????)
has "$folder" mine-1.0 'its name is in the label'
has "$(cat "$folder"/attempts/1/rank.1)" "1/2
--layers
4
--odd
it's \$HOME
a 'b' \$HOME
experiment
here/x" 'words, variables and what they expand to'
has "$(cat "$folder/run.json")" '"framework": "mine@1.0"' 'it is part of the run'
has "$(cat "$folder/run.json")" '"stack": "mine@1.0"' 'and names the stack'
has "$(cat "$folder/attempts/1/framework.json")" '"says": "1.0.7"' 'the version that it says'
first=${folder##*/}
sed -i 's/1.0"/1.1"/' good.lua
orch plan good.lua --format json
lacks "$out" "$first" 'another version is another run'

mine early 'echo "step 1 of many"'
local_orch run early.lua --runs runs -y
exits 4 'one that leaves early has not finished'
has "$(cat runs/early/*/attempts/1/status.json)" '"state": "left"' 'it left'

mine dies 'if [ "$RANK" = 1 ]; then exit 7; fi; sleep 600'
local_orch run dies.lua --runs runs -y
exits 4 'one that dies'
has "$(cat runs/dies/*/attempts/1/status.json)" '"exit_code": 7' 'with its own code'

mine stops 'trap "echo saved; exit 0" TERM
: >"$ORCH_ATTEMPT_FOLDER/up.$RANK"
for ((i = 0; i < 6000; i++)); do
  sleep 0.1
  if [ "$i" = 5 ]; then until [ -e "$ORCH_ATTEMPT_FOLDER/up.$((1 - RANK))" ]; do sleep 0.1; done; touch "$ORCH_RUN_FOLDER/stop"; fi
done'
local_orch run stops.lua --runs runs -y
has "$(cat runs/stops/*/attempts/1/status.json)" '"state": "stopped"' 'told to stop, it saves and leaves'
has "$(cat runs/stops/*/attempts/1/stdout.log)" saved 'by the signal that it knows'

mine unset_variable 'exit 0'
unset PROGRAM
local_orch run unset_variable.lua --runs runs -y
exits 4 'a program that is not named'
has "$(cat runs/unset_variable/*/attempts/1/stdout.log)" 'PROGRAM is not set in the job, and MINE needs it' \
  'a variable that an expansion needs is named'
sed 's/expand "$PROGRAM"/""/' unset_variable.lua >unset_need.lua
sed -i 's/unset_variable/unset_need/' unset_need.lua
local_orch run unset_need.lua --runs runs -y
exits 4 'a program that is not named'
has "$(cat runs/unset_need/*/attempts/1/stdout.log)" 'MINE is not set: my program' 'says which variable'
sed '/setup =/d; s/, BELOW = [^}]*//; s/unset_variable/unset_plain/' unset_variable.lua >unset_plain.lua
orch plan unset_plain.lua
exits 0 'a variable that is not set here may be set where jobs run'
has "$out" 'environment.MINE: PROGRAM is not set on this machine, and MINE needs it' 'it is said'
local_orch run unset_plain.lua --runs runs -y
exits 3 'nothing is started without it'
has "$err" 'PROGRAM is not set here, and MINE needs it' 'and its name is the reason'

# --- programs that are missing, of another version, or die ---------------------------------------------
export PROGRAM=$work/here/program
# asks NAME COMMAND: a run whose program is asked for its version by this command.
asks() {
  mine "$1" 'exit 3'
  printf '%s\n' "$2" >version
  sed -i "s|version = {.*}, files|version = { \"bash\", \"$work/here/version\" }, files|" frameworks/mine.lua
  local_orch run "$1.lua" --runs runs -y
}
asks missing_program "echo Traceback >&2; echo \"ModuleNotFoundError: No module named 'mine'\" >&2; exit 1"
exits 1 'a missing program is known before anything starts'
has "$out$err" "stopped here: mine@1.0 does not start: ModuleNotFoundError: No module named 'mine'" 'its last line'
has "$out$err" 'next: install it' 'and what to do'
same '' "$(find runs/missing_program -name attempts)" 'nothing was started'
asks other_version 'echo 1.2.3'
exits 1 'another version than the one that is asked for'
has "$out$err" 'mine@1.0 is asked for, and 1.2.3 is installed' 'both are named'
# Where it runs it may be another: then the run names the reason.
asks dies_there 'if [ ! -d "$ORCH_ATTEMPT_FOLDER" ]; then echo 1.0.7; exit; fi; echo "ImportError: \"broken\"" >&2; exit 1'
exits 4 'a program that dies when it is imported'
has "$out$err" 'mine@1.0 does not start: ImportError: broken' 'is the reason of the run'
has "$(cat runs/dies_there/*/attempts/1/events.jsonl)" '"class": "bad_exit"' 'with its class'

# --- environments -------------------------------------------------------------------------------------
mkdir -p clone/build/frameworks/ds
ln -s "$ORCH_HOME"/{experiments,templates} clone/
printf '# 0123\n# deepspeed torch\ntorch==2.11.0+cu130\ndeepspeed==0.19.8\n' >clone/build/frameworks/ds/orch-packages.txt
ORCH_HOME=$PWD/clone orch doctor
has "$out" 'ds (deepspeed torch, torch==2.11.0+cu130)' 'doctor lists what is installed'
rm clone/build/frameworks/ds/orch-packages.txt
ORCH_HOME=$PWD/clone orch doctor
has "$out" 'templates/frameworks/setup FRAMEWORK makes one' 'or how to get it'
code=0
err=$("$ORCH_HOME/templates/frameworks/setup" nope 2>&1) || code=$?
exits 2 'a framework without packages'
has "$err" 'one of: deepspeed hf-deepspeed hf-fsdp megatron-core torch torchtitan' 'the names are listed'
orch backends frameworks --format json
for name in deepspeed megatron-core transformers torchtitan; do
  version=$(sed -nE "s/^$name==([^ ]+) .*/\1/p" "$ORCH_HOME/templates/frameworks/pinned.txt")
  has "$out" "\"$name $version\"" 'the version that is pinned is the one that was tested'
done

# --- known frameworks, the user's own too
# ----------------------------------------------------------------
orch backends frameworks
exits 0 'the list'
has "$out" 'megatron-lm               0.4 to 0.19' 'a shipped one'
has "$out" 'mine                      1.0, 1.1' 'one of our own'

# --- three programs, one 175B -------------------------------------------------------------------------
orch plan "$ORCH_HOME/experiments/frameworks_175b.lua"
exits 0 'the shipped experiment'
has "$out" 'megatron-lm@0.12 cannot be made equal in:' 'differences of Megatron-LM'
has "$out" 'megatron-deepspeed@0.16 cannot be made equal in:' 'differences of Megatron-DeepSpeed'
orch plan "$ORCH_HOME/experiments/one_h200.lua" --format json
exits 0 'five programs on one GPU'
has "$out" '"framework": "torch"' 'two of them are PyTorch'
