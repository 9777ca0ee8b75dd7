#!/bin/bash
# Backends that are missing or broken, and the state of SLURM. $2 is the folder of broken plug-ins.
. "$(dirname -- "$0")/lib.sh"
broken=$2

experiment small 1 >small.lua
plugin_error() { # PART FOLDER
  ORCH_PLUGINS=$2 orch plan small.lua
  exits 1 "ORCH_PLUGINS=$2"
  has "$err" "$1" "ORCH_PLUGINS=$2"
  has "$err" "$2" "ORCH_PLUGINS=$2: the place"
  same '' "$out" "ORCH_PLUGINS=$2: nothing on stdout"
}
plugin_error 'cannot read the plug-in folder: No such file or directory' /no/such/folder
plugin_error 'orch_backend_entry' "$broken/no_entry"
plugin_error 'rebuild it' "$broken/wrong_major"
plugin_error 'rebuild it' "$broken/small_struct"
plugin_error 'megatron' "$broken/twin"
plugin_error 'orch-somebody.so' "$broken/other_name"
mkdir rubbish
echo 'not a library' >rubbish/orch-rubbish.so
plugin_error 'cannot be loaded' "$PWD/rubbish"
ORCH_PLUGINS=$broken/wrong_major:$broken/no_entry orch backends
exits 1 'two broken plug-ins'
has "$err" wrong_major 'two broken plug-ins'
has "$err" no_entry 'two broken plug-ins'

# One that works is there beside the built-in ones.
ORCH_PLUGINS=$broken/none orch backends
exits 0 'a fourth backend'
for strategy in plain megatron zero3 fsdp deepspeed ddp; do
  has "$out" "$strategy{}" 'a fourth backend'
done
sed 's/ddp {}/plain {}/' small.lua >plain.lua
orch plan plain.lua
exits 3 'a strategy without its plug-in'
ORCH_PLUGINS=$broken/none orch run plain.lua
exits 0 'a strategy with its plug-in'
has "$out" '1 run folder written' 'a strategy with its plug-in'
folder=$(echo runs/small/*)
orch explain "$folder"
exits 1 'explain without its plug-in'
has "$err" "no backend offers the strategy 'plain'" 'explain without its plug-in'

# No plug-ins at all: a copy of the program alone.
mkdir -p alone/bin
cp "$orch_program" alone/bin/orch
code=0
alone/bin/orch plan small.lua >/dev/null 2>"$work/err" || code=$?
err=$(cat "$work/err")
exits 1 'no plug-ins'
has "$err" 'no orch-*.so' 'no plug-ins'

# A local experiment stops before the trainers.
cat >local.lua <<'LUA'
return experiment {
  name = "at-home",
  model = "gpt-tiny",
  hardware = { cluster = "local", gpus = { 1, 2 } },
  batch = { global_batch = 8 },
  tokens = 1e6,
  strategies = { ddp { dtype = "fp32" } },
}
LUA
orch run local.lua
exits 0 'a local experiment'
has "$out" 'local runs need the trainers' 'a local experiment'
has "$out" 'next: orch explain runs/at-home/' 'a local experiment'
if find runs/at-home -name 'job*.sbatch' | grep -q .; then bad 'a local run has no job script'; fi

# SLURM that answers, and SLURM that does not.
mkdir slurm
for program in sbatch scontrol; do
  printf '#!/bin/sh\nexit 0\n' >"slurm/$program"
  chmod +x "slurm/$program"
done
with_slurm() {
  code=0
  PATH=$PWD/slurm "$orch_program" run small.lua >"$work/out" 2>"$work/err" || code=$?
  out=$(cat "$work/out") err=$(cat "$work/err")
}
with_slurm
exits 0 'SLURM answers'
has "$out" 'next: cd runs/small/' 'SLURM answers'
printf '#!/bin/sh\nexit 1\n' >slurm/scontrol
with_slurm
exits 5 'SLURM does not answer'
has "$out" 'does not answer' 'SLURM does not answer'

# Over budget is told by the exit code, whatever SLURM says.
sed 's/strategies =/budget = { gpu_hours = 1 }, strategies =/' small.lua >poor.lua
orch run poor.lua
exits 6 'over budget'
has "$out" 'kept by 0 of 1 run' 'over budget'

# A deadline counts from today unless a start is given, in the file or on the command line.
sed 's/strategies =/budget = { deadline = "2020-01-01" }, strategies =/' small.lua >late.lua
orch plan late.lua
exits 3 'a deadline in the past'
has "$err" 'budget.deadline: 2020-01-01 is before the start on 20' 'a deadline in the past'
orch plan late.lua --start 2019-12-01
has "$out" 'the fastest begins 2019-12-01 and ends ' 'a start on the command line'
has "$out" 'the deadline' 'a start on the command line'
