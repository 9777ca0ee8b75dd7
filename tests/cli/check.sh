#!/bin/bash
# Compares runs with the expectations of their experiment, as in a nightly job.
. "$(dirname -- "$0")/lib.sh"
. "$here/runs.sh"
. "$here/local.sh"

# Ten steps of 0.5 s; 8 x 128 tokens each: 2,048 tokens per second.
# shellcheck disable=SC2016 # the stand-in evaluates it
half='for ((i = 1; i <= 10; i++)); do
  event "\"step\",\"step\":$i,\"loss\":4.5,\"step_seconds\":0.5,\"tokens\":$((i * tokens_per_step)),\"tokens_per_second\":2048,\"peak_memory_bytes\":1000000"
done
finish'
# nightly NAME EXPECT
nightly() {
  cat >"$1.lua" <<LUA
return experiment {
  name = "$1", model = "gpt-tiny",
  hardware = { cluster = "local", gpus = 1, environment = { ORCH_TRAINER = "$stand_in", BEHAVIOUR = [[$half]] } },
  batch = { global_batch = 8, micro_batch = { 4, 8 } }, tokens = 1e6, steps = 10,
  strategies = { ddp { dtype = "fp32" } },
  $2
}
LUA
}

nightly good 'expect = { tokens_per_second = { value = 2100, below = 0.05 },
  peak_memory_bytes = { value = 1e6, above = 0.1 } },'
orch check good.lua
exits 1 'nothing has run'
has "$err" 'no started run has an expectation' 'nothing has run'
local_orch run good.lua -y
exits 0 'the night'
orch check good.lua
exits 0 'as fast as expected'
same 4 "$(grep -c ' ok$' <<<"$out")" 'two quantities of two runs'
orch check runs/good --format json
exits 0 'by the folder, without the file'
cp "$work/out" checks.json
if ! python3 - <<'PY'; then bad 'the checks as JSON' "$out"; fi
import json
checks = json.load(open("checks.json"))["checks"]
assert len(checks) == 4 and all(check["ok"] for check in checks), checks
speed = [check for check in checks if check["quantity"] == "tokens_per_second"]
assert all(check["measured"] == 2048 and check["expected"] == 2100 for check in speed), speed
PY

# Tomorrow's file expects more; the ids of its runs are the same.
nightly good 'expect = { { where = "micro_batch=4", tokens_per_second = { value = 2500, below = 0.05 } },
  { where = "micro_batch=8", step_seconds = { value = 0.49, above = 0.1 } } },'
orch check good.lua
exits 4 'a run fell short'
has "$out" 'short: 18.1 % below, 5 % are allowed' 'how far'
same 1 "$(grep -c ' ok$' <<<"$out")" 'the other one did not'
has "$err" '1 of 2 checks failed' 'the sum'
orch check good.lua --format csv
exits 4 'as CSV'
orch check runs/good
exits 0 'the folder has what was expected when it was written'
nightly good 'expect = { { where = "micro_batch=5", step_seconds = { value = 0.49, above = 0.1 } } },'
orch check good.lua
exits 1 'a choice of nothing'
has "$err" 'micro_batch=5' 'a choice of nothing'
nightly good ''
orch check good.lua
exits 1 'nothing is expected'

# A failed run does not fulfil its expectation.
half='exit 3'
nightly broken 'expect = { tokens_per_second = { value = 10, below = 0.05 } },'
local_orch run broken.lua -y
exits 4 'a night that fails'
orch check broken.lua
exits 4 'what failed fell short'
has "$out" 'short: failed' 'what failed fell short'
