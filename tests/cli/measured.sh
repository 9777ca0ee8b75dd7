#!/bin/bash
# Measurements beside estimates, from a trainer's events: the table at the end, status, explain.
. "$(dirname -- "$0")/lib.sh"
. "$here/runs.sh"
. "$here/local.sh"

# Ten steps with all that our trainers tell. A step of 16 ms moves 3,501,056 bytes: 4 for each
# parameter of gpt-tiny, the all-reduce of plain DDP.
# shellcheck disable=SC2016 # the stand-in evaluates it
measure='event "\"start\",\"ranks\":$WORLD_SIZE"
for ((i = 1; i <= 10; i++)); do
  event "\"step\",\"step\":$i,\"loss\":$((9 - i / 2)).5,\"step_seconds\":0.016,\"tokens\":$((i * tokens_per_step)),\"tokens_per_second\":64000,\"peak_memory_bytes\":104857600,\"gradient_norm\":1.5,\"learning_rate\":0.001,\"communicated_bytes\":$((i * 3501056))"
done
event "\"evaluation\",\"step\":10,\"loss\":4.75"
event "\"profile\",\"step\":10,\"time_items\":{\"QKV\":0.004,\"attention\":0.002,\"norms, dropout, GELU\":0.003,\"gradient all-reduce\":0.005,\"optimizer\":0.001,\"data loading\":0.001},\"memory_items\":{\"weights\":3501056,\"gradients\":3501056,\"something else\":77}"
finish'
cat >tiny.lua <<LUA
return experiment {
  name = "tiny", model = "gpt-tiny",
  hardware = { cluster = "local", gpus = 2, environment = { ORCH_TRAINER = "$stand_in", BEHAVIOUR = [[$measure]] } },
  batch = { global_batch = 8, micro_batch = 4 }, tokens = 1e6, steps = 10,
  training = { learning_rate = 1e-3, min_learning_rate = 1e-4, warmup_steps = 5 },
  strategies = { ddp { dtype = "fp32" }, ddp { dtype = "fp32", compression = powersgd { rank = 2 } } },
}
LUA
local_orch run tiny.lua -y
exits 0 'a run that measures'
has "$out" 'measured on local' 'the table at the end'
head=$(grep '^strategy ' <<<"$out" | tail -n 1)
for column in strategy ranks loss 'eval loss' 'step s' est. error tokens/s MiB MB/step; do
  has "$head" "$column" 'the head of the table'
done
has "$out" 'ddp compression=powersgd powersgd_rank=2 ' 'what tells the runs apart'
has "$out" ' 4.500 ' 'the last loss'
has "$out" ' 3.50 ' 'megabytes of a step'

orch status tiny --format json
exits 0 'status of what was measured'
cp "$work/out" status.json
if ! python3 - <<'PY'; then bad 'measured and estimated share their names' "$out"; fi
import json
for run in json.load(open("status.json"))["runs"]:
    assert run["last_loss"] == 4.5 and run["evaluation_loss"] == 4.75
    assert run["gradient_norm"] == 1.5 and run["learning_rate"] == 0.001
    assert run["communicated_bytes"] == 3501056, run
    for key in ("step_seconds", "tokens_per_second", "peak_memory_bytes", "communicated_bytes"):
        assert run[key] > 0 and run["estimated_" + key] > 0, key
plain = [r for r in json.load(open("status.json"))["runs"] if "powersgd" not in r["id"]][0]
# 4 bytes for each of the 875,264 parameters, and the three numbers that all ranks agree on.
assert plain["estimated_communicated_bytes"] == 3501056 + 24, plain
squeezed = [r for r in json.load(open("status.json"))["runs"] if "powersgd" in r["id"]][0]
assert 0 < squeezed["estimated_communicated_bytes"] < 3501056 / 2, squeezed
PY
orch status tiny --format csv
has "$out" ',104857600,' 'memory as CSV'
has "$out" ',3501056,' 'traffic as CSV'
orch status tiny --format md
has "$out" '| MB/step |' 'traffic as Markdown'
orch status tiny
has "$out" 'eval loss' 'the evaluation'

# explain: by hash, and by the experiment's file; item by item, nothing dropped, sums at the end.
hash=$(find runs/tiny -maxdepth 1 -name 'gpt-tiny*' ! -name '*powersgd*' -printf '%f\n')
hash=${hash##*-}
orch explain "$hash" --format json
exits 0 'explain of what was measured'
cp "$work/out" explain.json
if ! python3 - <<'PY'; then bad 'the comparison adds up' "$out"; fi
import json, math
doc = json.load(open("explain.json"))
close = lambda a, b: math.isclose(a, b, rel_tol=1e-9)
estimated = {"time": [i for i in doc["time"] if i["kind"] != "sum"],
             "memory": [i for i in doc["memory"] if i["first_stage"] == 0 and i["place"] == "device"]}
compared = {}
for part, unit in (("time", "seconds"), ("memory", "bytes")):
    items = estimated[part]
    *some, total_of_items, whole = doc["measured_" + part]
    rows = {row["name"]: row for row in some}
    compared[part] = rows, whole
    # Every item of the estimate is in exactly one row.
    assert sorted(p for row in some for p in row["parts"].split("; ") if p) == sorted({i["name"] for i in items})
    assert math.isclose(math.fsum(r["estimated"] or 0 for r in some), math.fsum(i[unit] for i in items), rel_tol=1e-6)
    assert close(total_of_items["measured"], math.fsum(r["measured"] or 0 for r in some))
    for row in some + [whole]:
        if row["measured"] and row["estimated"]:
            assert close(row["error_percent"], 100 * (row["estimated"] / row["measured"] - 1)), row
        else:
            assert row["error_percent"] is None
time, step = compared["time"]
of = lambda *names: math.fsum(i["seconds"] for i in estimated["time"] if i["name"].split(": ")[-1] in names)
assert close(time["attention"]["estimated"], of("attention scores", "attention context", "scores forward", "scores backward"))
assert close(time["gradient all-reduce"]["estimated"], of("gradient all-reduce"))
assert time["data loading"]["estimated"] is None and time["logits"]["measured"] is None
assert step["measured"] == 0.016
memory, peak = compared["memory"]
assert memory["weights"]["error_percent"] == 0 and memory["something else"]["estimated"] is None
assert peak["measured"] == 104857600
PY
orch explain "$hash"
has "$out" 'Measured: seconds of one step' explain
has "$out" 'data loading (not estimated)' explain
has "$out" 'logits (not measured)' explain
orch explain "$hash" --format md
exits 0 'explain as Markdown'
has "$out" '## Measured: bytes of one rank' 'explain as Markdown'
orch explain tiny.lua --where 'compression == "powersgd"'
has "$out" 'Measured: seconds of one step' 'explain by the file'
orch explain "$ORCH_HOME/experiments/tiny.lua"
lacks "$out" 'Measured' 'explain of what nobody ran'

# A trainer that reports why it failed.
cat >failing.lua <<LUA
return experiment {
  name = "failing", model = "gpt-tiny",
  hardware = { cluster = "local", gpus = 1, environment = { ORCH_TRAINER = "$stand_in",
    BEHAVIOUR = [[event "\"failed\",\"class\":\"nan\",\"message\":\"the loss is not a number at step 7\u001b[2J\""; exit 1]] } },
  batch = { global_batch = 8 }, tokens = 1e6, strategies = { ddp { dtype = "fp32" } },
}
LUA
local_orch run failing.lua -y
exits 4 'a trainer that knows why'
has "$out" 'nan: the loss is not a number at step 7' 'a trainer that knows why'
lacks "$out$err" $'\e' 'its words do nothing'
orch status failing --format json
same "['nan']" "$(json '[run["failure"] for run in doc["runs"]]')" 'the class of the failure'
