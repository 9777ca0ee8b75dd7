# shellcheck shell=bash disable=SC2034,SC2154 # of lib.sh, and for those who source this
# Sourced after lib.sh: runs on this machine, with a stand-in for the trainer.
stand_in=$here/../slurm/stand_in
mkdir "$work/tools"
for tool in bash env sleep mkdir mv cat; do ln -s "$(command -v "$tool")" "$work/tools/$tool"; done

# at_home NAME BEHAVIOUR [BUDGET]: two runs of 977 steps as planned, about 0.14 GPU-hours each.
at_home() {
  cat >"$1.lua" <<LUA
return experiment {
  name = "$1",
  model = "gpt-tiny",
  hardware = { cluster = "local", gpus = { 1, 2 },
               environment = { ORCH_TRAINER = "$stand_in", BEHAVIOUR = "$2" } },
  batch = { global_batch = 8 },
  tokens = 1e6,
  budget = { gpu_hours = ${3:-1} },
  strategies = { ddp { dtype = "fp32" } },
}
LUA
}

# As orch, with the programs that the stand-in needs and no others.
local_orch() {
  code=0
  PATH=$work/tools "$orch_program" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
  out=$(cat "$work/out")
  err=$(cat "$work/err")
}
