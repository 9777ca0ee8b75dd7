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
plugin_error 'orch-somebody.abi3.so' "$broken/other_name"
mkdir rubbish
echo 'not a library' >rubbish/orch-rubbish.abi3.so
plugin_error 'cannot be loaded' "$PWD/rubbish"
mkdir other_abi
echo 'never opened' >other_abi/orch-away.abi2.so
plugin_error 'orch-away.abi2.so: is for ABI 2' "$PWD/other_abi"
plugin_error 'this orch loads orch-away.abi3.so' "$PWD/other_abi"
mv other_abi/orch-away.abi2.so other_abi/orch-away.so
plugin_error 'orch-away.so: names no ABI' "$PWD/other_abi"
ORCH_PLUGINS=$broken/wrong_major:$broken/no_entry orch backends
exits 1 'two broken plug-ins'
has "$err" wrong_major 'two broken plug-ins'
has "$err" no_entry 'two broken plug-ins'

# A working one is available beside the built-in ones.
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

# No plug-ins: a copy of the program alone.
mkdir -p alone/bin
cp "$orch_program" alone/bin/orch
code=0
alone/bin/orch plan small.lua >/dev/null 2>"$work/err" || code=$?
err=$(cat "$work/err")
exits 1 'no plug-ins'
has "$err" 'no orch-*.abi3.so' 'no plug-ins'

# A local experiment stops if its trainer is missing, as beside that copy.
ORCH_PLUGINS=$(dirname -- "$(dirname -- "$orch_program")")/plugins
export ORCH_PLUGINS
orch_program=$PWD/alone/bin/orch
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
has "$out" 'no trainer to start: ' 'a local experiment'
has "$out" 'or orch explain runs/at-home/' 'a local experiment'
if [ -n "$(find runs/at-home -name 'job*.sbatch')" ]; then bad 'a local run has no job script'; fi

# SLURM that answers, and SLURM that does not.
. "$here/fake_slurm.sh"
with_slurm run small.lua
exits 0 'SLURM answers, without a trainer'
has "$out" 'no trainer to start: ' 'SLURM answers, without a trainer'
export ORCH_TRAINER=/bin/true
with_slurm run small.lua
exits 2 'SLURM answers, without a terminal'
has "$err" 'submit 1 run as 1 job (dgx-a100/a100-80g), up to ' 'SLURM answers, without a terminal'
has "$err" 'no terminal to ask on; -y submits without asking' 'SLURM answers, without a terminal'
same '' "$(submitted)" 'SLURM answers, without a terminal'
with_slurm run small.lua -y --detach
exits 0 'SLURM answers'
has "$out" '1 run submitted as 1 job' 'SLURM answers'
has "$out" 'next: orch watch small' 'SLURM answers'
same 1 "$(submitted | wc -l)" 'SLURM answers'
with_slurm run small.lua -y --detach
exits 0 'the second time'
same 1 "$(submitted | wc -l)" 'the second time nothing is submitted'
with_slurm status small --format csv
has "$out" ',pending,none,waiting for free nodes,false,1000,' 'a run that waits'
printf '#!/bin/sh\nexit 1\n' >"$fake/scontrol"
experiment away 1 >away.lua
with_slurm run away.lua
exits 5 'SLURM does not answer'
has "$out" 'does not answer' 'SLURM does not answer'
with_slurm run away.lua -y --patience 0
exits 5 'SLURM does not answer, with -y and no patience'
unset ORCH_TRAINER

# The exit code shows that the budget is exceeded, whatever SLURM's state.
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
