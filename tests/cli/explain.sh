#!/bin/bash
# orch explain: how a run is named, and that its items add up to its totals.
. "$(dirname -- "$0")/lib.sh"

experiment=$ORCH_HOME/experiments/200b.lua
orch run "$experiment"
exits 0 run
cat >sums.py <<'PY'
import json, math, sys

data = json.load(open(sys.argv[1]))
assert data["version"] == 1
run = data["run"]
close = lambda a, b: math.isclose(a, b, rel_tol=1e-9)
seconds = math.fsum(item["seconds"] for item in run["time"])
assert close(seconds, run["step_seconds"]), (seconds, run["step_seconds"])
assert run["time"] and run["memory"]
for stage in run["memory"]:
    total = math.fsum(item["bytes"] for item in stage["items"])
    assert close(total, stage["bytes"]), (total, stage["bytes"])
    assert all(item["formula"] for item in stage["items"]), "every item has its formula"
assert close(max(stage["bytes"] for stage in run["memory"]), run["peak_memory_bytes"])
first = [stage["first_stage"] for stage in run["memory"]]
last = [stage["last_stage"] for stage in run["memory"]]
assert first == [0] + [s + 1 for s in last[:-1]] and last[-1] == run["pipeline_parallel"] - 1
PY
count=0
for folder in runs/200b/*; do
  orch explain "$folder" --format json
  exits 0 "explain $folder"
  if ! python3 sums.py "$work/out"; then bad "the items of $folder add up"; fi
  count=$((count + 1))
done
if [ "$count" -lt 10 ]; then bad 'there are runs to explain' "$count"; fi

# What was planned and what is explained are one estimate.
for file in "$experiment" "$ORCH_HOME"/experiments/bloom7b_days.lua; do
  orch plan "$file" --format json
  cp "$work/out" plan.json
  orch explain "$file" --format json
  exits 0 "explain $file"
  if ! python3 sums.py "$work/out"; then bad "the items of the best of $file add up"; fi
  if ! python3 - "$work/out" <<'PY'; then bad "plan and explain agree on $file"; fi
import json, math, sys
best, run = json.load(open("plan.json"))["runs"][0], json.load(open(sys.argv[1]))["run"]
assert best["id"] == run["id"]
for key in ("step_seconds", "peak_memory_bytes", "days_to_train", "gpu_hours"):
    assert math.isclose(best[key], run[key], rel_tol=1e-9), key
PY
done

# By folder, id, beginning, hash and beginning of the hash.
id=$(basename "$(echo runs/200b/* | cut -d' ' -f1)")
hash=${id##*-}
for name in "runs/200b/$id" "runs/200b/$id/" "$id" "${id%??}" "$hash" "${hash:0:6}"; do
  orch explain "$name"
  exits 0 "explain $name"
  has "$out" "$id" "explain $name"
  has "$out" 'one step' "explain $name"
done
(cd "runs/200b/$id" && "$orch_program" explain . >/dev/null) || bad 'explain . in the folder'
orch explain gpt-199b
exits 1 'an ambiguous beginning'
has "$err" 'runs begin like this' 'an ambiguous beginning'
has "$err" 'gpt-199b-megatron' 'an ambiguous beginning'
orch explain "${id%?}x"
exits 1 'a misspelt id'
has "$err" "did you mean '$id'?" 'a misspelt id'
orch explain nothing --runs /no/such/folder
exits 1 'no runs at all'
has "$err" 'orch run FILE.lua makes runs' 'no runs at all'
orch explain missing.lua
exits 3 'a missing experiment'
orch explain "$experiment" --where 'pipeline_parallel == 16'
exits 0 'the best of some'
has "$out" '-pp16-' 'the best of some'
orch explain "$experiment" --where 'pipeline_paralel == 16'
exits 2 'explain with a bad --where'

# The schedule: its stretches add up to the whole, with dates where there is a start.
orch explain "$experiment" --start 2026-12-01
exits 0 'explain --start'
has "$out" 'begins 2026-12-01 and ends 20' 'explain --start'
has "$out" 'Schedule' 'explain --start'
orch explain "$id" --start 2028-02-29 --format json
exits 0 'explain a folder --start'
if ! python3 - "$work/out" <<'PY'; then bad 'the schedule adds up'; fi
import json, math, sys
run = json.load(open(sys.argv[1]))["run"]
phases = run["schedule"]
close = lambda a, b: math.isclose(a, b, rel_tol=1e-9)
assert close(math.fsum(p["tokens"] for p in phases), run["tokens"])
assert close(math.fsum(p["seconds"] for p in phases), run["days_to_train"] * 86400)
assert close(math.fsum(p["gpu_hours"] for p in phases), run["gpu_hours"])
assert phases[0]["from"] == "2028-02-29" and phases[-1]["to"] == run["ends"]
assert run["ends_low"] < run["ends"] < run["ends_high"]
assert run["step_low"] < run["step_seconds"] < run["step_high"]
assert run["memory_low"] < run["peak_memory_bytes"] < run["memory_high"]
PY
orch explain "$id" --start 2026-02-30
exits 2 'a day that is none'
has "$err" "'2026-02-30' is not a day of the calendar" 'a day that is none'
