# shellcheck shell=bash disable=SC2034,SC2154 # of lib.sh, and for those who source this
# Sourced after lib.sh: runs on this machine, with a stand-in for the trainer.
stand_in=$here/../slurm/stand_in
mkdir "$work/tools"
for tool in bash env sleep mkdir mv cat; do ln -s "$(command -v "$tool")" "$work/tools/$tool"; done

# at_home NAME BEHAVIOUR [SHARE]: two runs of 977 steps as planned. Their budget is a share of the
# estimated cost of both.
at_home() {
  cat >"$1.lua" <<LUA
return experiment {
  name = "$1",
  model = "gpt-tiny",
  hardware = { cluster = "local", gpus = { 1, 2 },
               environment = { ORCH_TRAINER = "$stand_in", BEHAVIOUR = "$2" } },
  batch = { global_batch = 8 },
  tokens = 1e6,
  budget = { gpu_hours = 1e9 },
  strategies = { ddp { dtype = "fp32" } },
}
LUA
  orch plan "$1.lua" --format json
  sed -i "s/1e9/$(python3 -c 'import json, sys
print(float(sys.argv[2]) * sum(run["gpu_hours"] for run in json.load(open(sys.argv[1]))["runs"]))
' "$work/out" "${3:-4}")/" "$1.lua"
}

# Runs orch with the programs that the stand-in needs and no others, for five minutes: runs on this
# machine wait for each other, and one left by another test would otherwise be waited for until its
# end.
deadline=$(command -v timeout)
local_orch() {
  code=0
  PATH=$work/tools "$deadline" 300 "$orch_program" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
  out=$(cat "$work/out")
  err=$(cat "$work/err")
  if [ "$code" = 124 ]; then
    bad "orch $*: it ends within five minutes" "$out" "$err" "$(pgrep -af ' _local ')"
    exit 1
  fi
}
