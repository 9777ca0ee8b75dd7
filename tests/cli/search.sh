#!/bin/bash
# orch search: what it prints for people and programs, mistakes, Ctrl-C.
. "$(dirname -- "$0")/lib.sh"

cat >x.lua <<'LUA'
return experiment {
  name = "x",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = { 8, 16 } },
  batch = { global_batch = 16 },
  tokens = 100e9,
  strategies = { megatron { zero_stage = 1 }, fsdp {} },
  constraints = { ["no whole node"] = function(r) return r.tensor_parallel <= 4 end },
}
LUA

orch search x.lua --format json --top 4
exits 0 'search --format json'
same '' "$err" 'json tells all on stdout'
cp "$work/out" one.json
orch search x.lua --format json --top 4 --threads 3
cp "$work/out" three.json
orch plan x.lua --format json
cp "$work/out" plan.json
if ! python3 - <<'PY'; then bad 'the JSON of a search'; fi
import json

one, three = json.load(open("one.json")), json.load(open("three.json"))
keys = ["version", "experiment", "space", "evaluated", "rejected", "oom", "seconds", "complete",
        "keeps_budget", "best", "pareto"]
assert list(one) == keys, list(one)
assert one["version"] == 1 and one["complete"] is True and one["keeps_budget"] is True
assert all(isinstance(one[key], int) for key in keys[2:6])
assert one["evaluated"] == one["space"] > one["rejected"] + one["oom"] > 0
assert {key: one[key] for key in keys if key != "seconds"} == \
    {key: three[key] for key in keys if key != "seconds"}, "threads change nothing"
lists = [entry["for"] for entry in one["best"]]
assert lists == ["time"] * 4 + ["strategy"] * 2 + ["gpu_hours"] * 3 + ["headroom"] * 3, lists
assert [entry["strategy"] for entry in one["best"][4:6]] == ["megatron", "fsdp"] or \
    [entry["strategy"] for entry in one["best"][4:6]] == ["fsdp", "megatron"]
# Whose range overlaps with that of the first shares its place.
for name, low, high in (("time", "days_low", "days_high"), ("headroom", "memory_low", "memory_high")):
    entries = [entry for entry in one["best"] if entry["for"] == name]
    for i, entry in enumerate(entries):
        tie = any(entry is not other and entry[low] <= other[high] and other[low] <= entry[high]
                  for other in ([entries[0]] if i else entries[1:]))
        assert entry["tie"] == tie and entry["rank"] == (1 if tie else i + 1), (name, i)
of_plan = {run["strategy"]: run for run in json.load(open("plan.json"))["runs"]}
for entry in one["best"] + one["pareto"]:
    missing = [key for key in of_plan[entry["strategy"]] if key not in entry and key != "warnings"]
    assert not missing, missing
    assert entry["fit"] != "oom" and entry["tensor_parallel"] <= 4
    assert entry["tensor_parallel"] * entry["pipeline_parallel"] * entry["data_parallel"] == \
        entry["gpus"]
    assert entry["micro_batch"] * entry["accumulate"] * entry["data_parallel"] == 16
    assert 0 <= entry["headroom"] < 1
times = [entry["days_to_train"] for entry in one["best"] if entry["for"] == "time"]
assert times == sorted(times)
assert one["best"][0]["days_to_train"] == min(entry["days_to_train"] for entry in one["pareto"])
for a in one["pareto"]:
    for b in one["pareto"]:
        axes = ("days_to_train", "peak_memory_bytes", "gpu_hours")
        assert a is b or any(a[axis] < b[axis] for axis in axes), (a["id"], b["id"])
PY

orch search x.lua --format csv --top 2
exits 0 csv
same "list,$(orch plan x.lua --format csv && head -n 1 "$work/out")" \
  "$(orch search x.lua --format csv --top 2 && head -n 1 "$work/out")" 'the columns of a plan'
has "$err" 'next: orch search' 'csv: the notes go to stderr'
orch search x.lua --format md
exits 0 md
has "$out" '## Best by time to train' md
has "$out" '## Pareto front' md
orch search x.lua
exits 0 table
for part in 'Best by time to train' 'Best of each strategy' 'Best by memory headroom' \
  '90 % range' 'Pareto front' 'their ratio may be 1' 'the runner-up, ' '% longer; per step: ' 'the best as Lua: ' 'next: orch search x.lua --write'; do
  has "$out" "$part" 'search'
done
lacks "$out" $'\e' 'no colours where nobody looks'

# --keep, --open, --where.
space() { orch search x.lua --format json "$@" && python3 -c \
  'import json, sys; print(json.load(open(sys.argv[1]))["space"])' "$work/out"; }
all=$(space)
if [ "$(space --keep recompute)" != $((all / 3)) ]; then bad '--keep recompute leaves a third'; fi
if [ "$(space --open flash_attention)" != $((all * 2)) ]; then bad '--open doubles'; fi
# overlap, reduce_dtype, tied_scatter, offload_activations, dtype, optimizer, flash_attention, fused_kernels and four values of
# prefetch.
sed 's/megatron {.*}, fsdp/fsdp/' x.lua >fsdp.lua
size() { orch search "$@" --format json && python3 -c \
  'import json, sys; print(json.load(open(sys.argv[1]))["space"])' "$work/out"; }
same $(($(size fsdp.lua) * 2 * 2 * 2 * 4 * 2 * 2 * 2 * 2 * 4)) "$(size fsdp.lua --open all)" '--open all'
orch search x.lua --where 'gpus == 8 and strategy == "fsdp"' --format json
exits 0 --where
lacks "$out" '"gpus": 16' --where
lacks "$out" '"strategy": "megatron"' --where

# The best as an experiment: the same estimate, and orch takes it; with a ramp-up that begins on one
# node of two as well.
days() { python3 -c 'import json, sys; run = json.load(open(sys.argv[1]))[sys.argv[2]][0]
print(*(run[key] for key in ("days_to_train", "days_low", "days_high", "gpu_hours")))' "$work/out" "$1"; }
sed 's/{ 8, 16 }/16/; s/batch = 16 }/batch = 16, rampup = { start = 4, step = 4, samples = 9765625, fewer_nodes = true } }/' \
  x.lua >ramp.lua
has "$(cat ramp.lua)" 'fewer_nodes' 'the ramp-up'
for file in ramp.lua x.lua; do
  rm -f best.lua
  orch search "$file" --write best.lua --format json
  exits 0 "$file --write"
  found=$(days best)
  orch plan best.lua --format json
  exits 0 "plan of what was written, $file"
  same "$found" "$(days runs)" "the days of what was written, $file"
done
orch run best.lua --dry-run
exits 0 'run of what was written'
change() { sed "s/$1/$2/" x.lua >"$3"; }
# Nothing that the experiment says is lost on the way.
change 'tokens = ' 'start = "2026-12-01", availability = 0.9, budget = { gpu_hours = 1e6, deadline = "2027-12-01" }, training = { learning_rate = 0.001, seed = 7 }, trainer = "my-trainer", tokens = ' said.lua
rm -f best.lua
orch search said.lua --write best.lua
exits 0 'search of all that can be said'
for said in 'start = "2026-12-01"' 'availability = 0.9' 'deadline = "2027-12-01"' 'learning_rate = 0.001, seed = 7' \
  'trainer = "my-trainer"' 'gpu_hours = 1000000'; do
  has "$(cat best.lua)" "$said" 'all that was said is written'
done
orch plan best.lua
exits 0 'plan of all that can be said'
orch search x.lua --open flash_attention --keep recompute --where 'gpus == 8'
has "$out" "next: orch search x.lua --keep recompute --open flash_attention --where 'gpus == 8' --write best.lua" \
  'the next step is of the same search'
orch search x.lua --write best.lua
exits 0 'its own file is written again'
has "$out" 'next: orch run best.lua' 'its own file is written again'
orch search x.lua --write x.lua
exits 1 'a file of somebody else'
has "$err" 'not written by orch search' 'a file of somebody else'

change '"no whole node"\] = function(r) return r.tensor_parallel <= 4' '"room for others"] = function(r) return r.gpus > 100' strict.lua
orch search strict.lua
exits 3 'a constraint that nothing keeps'
has "$out$err" 'room for others' 'a constraint that nothing keeps is named'

# Mistakes.
wrong() { # CODE PART ARGUMENTS...
  local want=$1 part=$2
  shift 2
  orch search "$@"
  exits "$want" "search $*"
  has "$err" "$part" "search $*"
}
wrong 2 "did you mean 'tensor_parallel'?" x.lua --keep tensor_paralel
wrong 2 "did you mean 'flash_attention'?" x.lua --open flash_atention
wrong 2 'kept and opened' x.lua --open interleave --keep interleave
wrong 2 "did you mean 'gpus'?" x.lua --where 'gpuss == 8'
wrong 2 'FILE is required'
wrong 2 "'0' is not a whole number" x.lua --top 0
wrong 3 'nowhere.lua' nowhere.lua
change 'strategies = .*,$' 'strategies = {},' empty.lua
wrong 3 'an empty list leaves nothing to run' empty.lua
change 'gpus = { 8, 16 } ' '' no_gpus.lua
wrong 3 'how many GPUs' no_gpus.lua
change 'batch = .*,$' '' no_batch.lua
wrong 3 'write global_batch' no_batch.lua
change 'global_batch = 16' 'global_batch = 13' prime.lua
orch search prime.lua
exits 0 'a prime batch leaves one data-parallel rank'
has "$out" 'DP 1' 'a prime batch leaves one data-parallel rank'
change 'tokens = ' 'search = { params = "1.3B", tolerance = 1e-9, heads = { 7 } }, tokens = ' size.lua
wrong 3 'no shape has' size.lua
change 'tokens = ' 'search = { params = "big", layer = 3, heads = {}, layers = { from = 9, to = 3 } }, tokens = ' form.lua
wrong 3 "did you mean 'layers'?" form.lua
has "$err" 'search.params' 'all mistakes of the form'
has "$err" 'from 9 to 3 is no range' 'all mistakes of the form'
has "$err" 'search.heads' 'all mistakes of the form'
change 'gpt-1.3b' 'gpt-530b' large.lua
orch search large.lua
exits 3 'nothing fits'
has "$out" 'the nearest to fitting takes' 'nothing fits'

# Shapes: a search has them, a plan keeps the model.
change 'tokens = ' 'search = { params = 1.3e9, tolerance = 0.04, layers = { 20 } }, tokens = ' shapes.lua
orch search shapes.lua --format json
exits 0 shapes
has "$out" '"layers": 20' shapes
has "$out" '"model": "gpt-2' shapes
orch plan shapes.lua --format json
has "$out" '"model": "gpt-1.3b"' 'a plan ignores shapes'

# Budget: exit 6 where nothing keeps it.
change 'tokens = ' 'budget = { gpu_hours = 1 }, tokens = ' poor.lua
orch search poor.lua
exits 6 'over budget'
has "$out" 'nothing keeps it' 'over budget'
orch search poor.lua --format json
exits 6 'over budget, json'
has "$out" '"keeps_budget": false' 'over budget, json'

# Ctrl-C gives the best so far: a space that takes minutes, stopped after a moment.
sed 's/{ 8, 16 }/512/; s/gpt-1.3b/gpt-145b/; s/= 16/= 4096/' x.lua >huge.lua
code=0
"$orch_program" search huge.lua --open all --threads 1 --format json >"$work/out" 2>"$work/err" </dev/null &
pid=$!
# Two seconds of a processor, however busy it is: utime, in hundredths of a second.
until [ "$(awk '{ print $14 }' "/proc/$pid/stat" 2>/dev/null || echo 200)" -ge 200 ]; do sleep 0.1; done
kill -INT "$pid"
wait "$pid" || code=$?
out=$(cat "$work/out")
err=$(cat "$work/err")
exits 130 'Ctrl-C'
has "$err" 'interrupted after' 'Ctrl-C says how much was seen'
if ! python3 - "$work/out" <<'PY'; then bad 'Ctrl-C leaves whole JSON'; fi
import json, sys

data = json.load(open(sys.argv[1]))
assert data["complete"] is False and 0 < data["evaluated"] < data["space"]
PY
