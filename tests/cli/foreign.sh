#!/bin/bash
# Measurements of any program: runs whose program writes no events, only a log in its own format.
. "$(dirname -- "$0")/lib.sh"
. "$here/runs.sh"
. "$here/local.sh"

# foreign NAME BEHAVIOUR: one run of ten steps, by a program that prints like Megatron-LM.
foreign() {
  cat >"$1.lua" <<LUA
return experiment {
  name = "$1", model = "gpt-tiny",
  hardware = { cluster = "local", gpus = 1, environment = { ORCH_TRAINER = "$stand_in", BEHAVIOUR = [[
line() { # STEP LOSS
  printf ' iteration %8d/      10 | consumed samples: %12d | elapsed time per iteration (ms): 250.0 | learning rate: 1.0E-04 | global batch size:     8 | lm loss: %s | number of skipped iterations:   0 | number of nan iterations:   0 |\n' "\$1" "\$((8 * \$1))" "\$2"
}
echo "using world size: 1, data-parallel-size: 1, tensor-model-parallel size: 1, pipeline-model-parallel size: 1"
$2
]] } },
  batch = { global_batch = 8, micro_batch = 4 }, tokens = 1e6, steps = 10,
  strategies = { ddp { dtype = "fp32" } },
}
LUA
}

# shellcheck disable=SC2016 # the stand-in evaluates these
{
  all='for i in 1 2 3 4 5 6 7 8 9 10; do line $i 8.$((9 - i / 2))E+00; done; exit 0'
  some='for i in 1 2 3 4; do line $i 8.5E+00; done; exit 0'
  full='line 1 9.0E+00; line 2 8.9E+00; echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"; exit 1'
  lost='line 1 9.0E+00; line 2 8.9E+00; echo "RuntimeError: found NaN in local forward loss calculation. Device: 0"; exit 1'
  slow='for i in 1 2 3; do line $i 8.5E+00; done; sleep 600; exit 0'
}

foreign whole "$all"
local_orch run whole.lua -y
exits 0 'all its steps are in its log'
has "$out" 'finished' 'steps done decide that it is finished'
orch status whole --format json
cp "$work/out" status.json
if ! python3 - <<'PY'; then bad 'status has what the log says' "$out"; fi
import json
run, = json.load(open("status.json"))["runs"]
assert run["state"] == "finished", run
assert run["step"] == 10 and abs(run["step_seconds"] - 0.25) < 1e-9, run
assert run["last_loss"] == 8.4, run
assert run["tokens_per_second"] > 0
PY
run=$(echo runs/whole/gpt*)
orch report runs/whole --format csv
has "$out" ',0.25,' 'the time of a step in a report'
has "$out" 'megatron' 'the framework that the log is of'
orch compare runs/whole "$run"
exits 0 'a comparison'
has "$out" 'are the same record: there is nothing to compare' 'of a run with itself'
orch compare runs/whole "$run" --format csv
has "$out" ',measured,0.25,0.25,0.25,' 'a comparison has the time of the log'
orch explain "$run"
exits 0 'explain'
has "$out" 'measured' 'explain shows what was measured'
orch ingest "$run" --format json
exits 0 'ingest of a run folder'
cp "$work/out" records.json
if ! python3 - <<'PY'; then bad 'what the log does not say is in run.json' "$out"; fi
import json
run, = json.load(open("records.json"))["records"]
assert run["layers"] == 4 and run["seq"] == 128 and run["gpu"] == "cpu", run
assert run["recompute"] == "none" and "recompute" not in run["assumed"], run
assert abs(run["measured"]["tokens_per_second"] - 8 * 128 / 0.25) < 1e-6, run["measured"]
PY
orch ingest "$run" --format csv
has "$out" ',local,' 'the cluster is in the row'

orch calibrate --from "$run" -o mine.yaml
exits 0 'a cluster is fitted to what a log says'
has "$(cat mine.yaml)" 'fitted: 1 row of stdout.log' 'the constants'

foreign early "$some"
local_orch run early.lua -y
exits 4 'one that leaves early'
has "$out$err" 'exited with code 0 after 4 of 10 steps' 'leaving early is not finishing'
foreign full "$full"
local_orch run full.lua -y
has "$out$err" 'failed: gpu memory: ' 'memory is found in a foreign log'
foreign lost "$lost"
local_orch run lost.lua -y
orch status lost --format json
has "$out" '"nan"' 'NaN is found in a foreign log'

# While it runs: its steps are read from the log.
foreign slow "$slow"
local_orch run slow.lua -y --detach
for _ in $(seq 1500); do
  if grep -q 'iteration        3/' runs/slow/*/attempts/1/stdout.log 2>/dev/null; then break; fi
  sleep 0.2
done
orch status slow --format json
has "$out" '"step": 3' 'the step of a running one'
local_orch cancel slow -y
exits 0 'cancel'
local_orch watch slow
has "$out" 'cancelled' 'it ends before its folder goes'
