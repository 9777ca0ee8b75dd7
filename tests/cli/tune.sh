# shellcheck shell=bash
# orch tune: the fastest of eight runs is found by measuring some, killed and continued.
# shellcheck source=lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=local.sh
. "$here/local.sh"

# A stand-in whose step depends on the layout: the tensor-parallel runs are a little faster than the
# others, though they are estimated to be slower. One dies.
cat >layouts.lua <<LUA
return experiment {
  name = "layouts",
  model = "gpt-tiny",
  hardware = { cluster = "local", gpus = 2, environment = { ORCH_TRAINER = "$stand_in", BEHAVIOUR = [=[
[[ \$json =~ \\"tensor_parallel\\":\\ ([0-9]+) ]]; t=\${BASH_REMATCH[1]}
[[ \$json =~ \\"micro_batch\\":\\ ([0-9]+) ]]; m=\${BASH_REMATCH[1]}
if [ \$t = 2 ] && [ \$m = 8 ]; then exit 1; fi
steps 6 0.\$((30 - 5 * t - m))]=] } },
  batch = { global_batch = 16, micro_batch = { 1, 2, 4, 8 } },
  tokens = 1e6,
  strategies = { megatron { tensor_parallel = { 1, 2 }, dtype = "fp32", recompute = "none" } },
}
LUA

tune() { local_orch tune layouts.lua --steps 6 --no-calibrate "$@"; }

tune --measure 1
same '0 1' "$code $(find runs/layouts-tune -maxdepth 1 -name 'gpt*' | wc -l)" 'one run is measured'
has "$out" '1 of 8 runs measured' 'the answer says how many'
has "$out" 'the limit of runs was reached' 'and why it stopped'
has "$err" 'per step, estimated' 'progress has the measured and the estimated time'

same 1 "$(grep -l '"keep_checkpoints": 0' runs/layouts-tune/gpt*/run.json | wc -l)" 'it writes no checkpoint'

# Killed in the middle, then called again: it continues.
PATH=$work/tools "$deadline" -s KILL 3 "$orch_program" tune layouts.lua --steps 6 --no-calibrate --measure 8 --regret 0.01 \
  >"$work/out" 2>&1 </dev/null || true
tune --measure 8 --regret 0.01 --format json
same '0 8' "$code $(find runs/layouts-tune -maxdepth 1 -name 'gpt*' | wc -l)" 'all are tried'
answer=$(python3 - "$work/out" <<'PY'
import json, sys
answer = json.load(open(sys.argv[1]))
runs = answer["runs"]
measured = sorted((r["step_seconds"], r["run"]) for r in runs if r["step_seconds"])
failed = [r for r in runs if r["failure"]]
print(measured[0][1], len(measured), len(failed), sum(r["chance"] for r in runs) > 0.99,
      runs[0]["run"] == measured[0][1])
PY
)
same 'tp2-dp1-mb4 7 1 True True' "$answer" 'the fastest is known, the one that died is left out'
folders=$(find runs -name 'attempts' -exec ls {} \; | wc -l)
same 8 "$folders" 'nothing is measured twice'

# A full disk is not the run's fault, and would end the next one too.
cat >full.lua <<LUA
return experiment {
  name = "full",
  model = "gpt-tiny",
  hardware = { cluster = "local", gpus = 1, environment = { ORCH_TRAINER = "$stand_in",
    BEHAVIOUR = [=[event '"failed","class":"disk","message":"No space left on device"'; exit 1]=] } },
  batch = { global_batch = 16, micro_batch = { 1, 2, 4, 8 } },
  tokens = 1e6,
  strategies = { ddp { dtype = "fp32" } },
}
LUA
local_orch tune full.lua --steps 6 --no-calibrate --measure 4
exits 4 'a full disk ends it'
has "$err" 'failed: disk' 'with the class'
has "$err" 'orch retry runs/full-tune/gpt' 'and what to do next'
same 1 "$(find runs/full-tune -maxdepth 1 -name 'gpt*' | wc -l)" 'after one run'

# Nothing to measure.
local_orch tune layouts.lua --set model=gpt-175b --set strategies.megatron.dtype=bf16 --no-calibrate
exits 3 'no run fits: invalid'
has "$err" 'no run fits' 'and it says so'
