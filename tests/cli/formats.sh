#!/bin/bash
# Formats for programs: JSON, CSV and Markdown, and the selection of runs with --where.
. "$(dirname -- "$0")/lib.sh"

cat >x.lua <<'LUA'
return experiment {
  name = "formats",
  model = { "gpt-1.3b", "bloom-7b" },
  hardware = { cluster = "dgx-a100", gpus = { 8, 16, 20 } },
  batch = { global_batch = 128 },
  strategies = {
    megatron { tensor_parallel = { 1, 2, 3 }, micro_batch = { 1, 32 }, stage_partition = { "uniform", "transformer|embedding" } },
    ddp { compression = { "none", powersgd { rank = 4 } } },
  },
}
LUA
for format in json csv md; do
  orch plan x.lua --format "$format"
  exits 0 "$format"
  lacks "$out" $'\e' "$format"
  cp "$work/out" "all.$format"
done
if ! python3 - <<'PY'; then bad 'the formats agree'; fi
import csv, json

COUNTS = "gpus tensor_parallel pipeline_parallel data_parallel micro_batch accumulate global_batch".split()
QUANTITIES = """peak_memory_bytes step_seconds tflops_per_gpu tokens_per_second days_per_100b_tokens days_to_train
gpu_hours""".split()
KEYS = ["id", "strategy", "partition", *COUNTS, "fit", *QUANTITIES, "backend", "cluster", "nodes"]
data = json.load(open("all.json"))
assert list(data) == ["schema", "name", "runs", "warnings", "rejected", "findings"], list(data)
assert data["schema"] == 1 and data["name"] == "formats"
runs, rejected = data["runs"], data["rejected"]
assert len(runs) + len({row["id"] for row in rejected}) == 2 * 3 * (3 * 2 * 2 + 2), (len(runs), len(rejected))
assert len({run["id"] for run in runs}) == len(runs)
for run in runs:
    missing = [key for key in KEYS if key not in run]
    assert not missing, missing
    assert [key for key in run if key in KEYS] == KEYS, "in the order of the documentation"
    assert run["fit"] in ("fits", "tight", "oom")
    assert all(isinstance(run[key], int) and run[key] > 0 for key in COUNTS)
    assert all(run[key] > 0 for key in QUANTITIES)
    assert run["tensor_parallel"] * run["pipeline_parallel"] * run["data_parallel"] == run["gpus"]
    assert run["micro_batch"] * run["accumulate"] * run["data_parallel"] == run["global_batch"]
    # The conventions: days per 100B tokens, and GPU-hours from days.
    days = 1e11 / (run["global_batch"] * 2048) * run["step_seconds"] / 86400
    assert abs(run["days_per_100b_tokens"] / days - 1) < 1e-9
    assert abs(run["gpu_hours"] / (run["days_to_train"] * 24 * run["gpus"]) - 1) < 1e-9
for reason in rejected:
    assert list(reason) == ["id", "place", "fact", "fix"] and reason["fact"], reason
for run in runs:
    assert run["step_low"] < run["step_seconds"] < run["step_high"]
    assert run["memory_low"] < run["peak_memory_bytes"] < run["memory_high"]
    ratio = run["step_high"] / run["step_seconds"]
    assert abs(run["days_high"] / run["days_to_train"] / ratio - 1) < 1e-9
    assert (run["rank"] is None) == (run["fit"] == "oom")
    assert "ends" not in run
fit = [run for run in runs if run["fit"] != "oom"]
best = {}  # of each size
for run in fit:
    overlaps = run["days_low"] <= best.setdefault(run["model"], run)["days_high"]
    assert run["rank"] != 1 or overlaps, "what ties on one machine overlaps with the best"
assert len(best) == 2
order = [(run["model"] == "bloom-7b", run["fit"] == "oom", run["days_to_train"]) for run in runs]
assert order == sorted(order), "sizes apart, each by time to train, what does not fit last"

rows = list(csv.DictReader(open("all.csv")))
assert len(rows) == len(runs)
assert [key for key in rows[0] if key in KEYS] == KEYS
for row, run in zip(rows, runs):
    assert row["id"] == run["id"] and row["variant"] == run["variant"]
    assert all(int(row[key]) == run[key] for key in COUNTS)
    for key in "step_seconds step_low step_high memory_low memory_high days_low days_high".split():
        assert abs(float(row[key]) / run[key] - 1) < 1e-4, key
    assert row["rank"] == str(run["rank"] or "") and row["tie"] == str(run["tie"]).lower()

lines = [line for line in open("all.md").read().splitlines() if line.startswith("|")]
cells = [line.replace("\\|", "").count("|") for line in lines]
assert len(lines) == 2 + len(runs) and len(set(cells)) == 1, cells
assert set(lines[1]) <= set("|-: ")
assert any("transformer\\|embedding" in line for line in lines), "| is escaped"
PY

# A spare node counts in the cost: 5 nodes of 8, of which 4 train.
orch plan "$here/../golden/spare_nodes/experiment.lua" --format json
if ! python3 - "$work/out" <<'PY'; then bad 'the GPU-hours of a spare node'; fi
import json, sys
run, = json.load(open(sys.argv[1]))["runs"]
assert abs(run["gpu_hours"] / (run["days_to_train"] * 24 * 5 * 8) - 1) < 1e-9, run
PY

# Notes go to stderr, not into the file.
orch plan x.lua --format csv
has "$err" 'rejected, by reason' 'the notes of csv on stderr'
lacks "$out" 'rejected' 'the notes of csv on stdout'
orch plan x.lua --format json
same '' "$err" 'json tells all on stdout'
orch run x.lua --format json
if ! python3 -m json.tool <"$work/out" >/dev/null; then bad 'run --format json is JSON and nothing else'; fi
has "$err" 'run folders written' 'run --format json says the rest on stderr'

# --where
count() { python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["runs"]))' "$work/out"; }
orch plan x.lua --format json --where 'tensor_parallel == 2 and gpus == 8 and model == "gpt-1.3b"'
exits 0 --where
same 4 "$(count)" 'two micro-batches, two partitions'
orch plan x.lua --format json --where 'powersgd_rank and powersgd_rank > 2'
exits 0 'a parameter that some strategies do not have'
lacks "$out" '"strategy": "megatron"' 'a parameter that some strategies do not have'
orch plan x.lua --format json --where 'fit ~= "oom" and days_to_train < 1e6 and warnings >= 0'
exits 0 'fields of the estimate'
no_where() { # PART EXPRESSION
  orch plan x.lua --where "$2"
  exits 2 "--where '$2'"
  has "$err" "$1" "--where '$2'"
}
no_where "did you mean 'tensor_parallel'?" 'tensor_paralel == 2'
no_where 'compare something' 'gpus = 8'
no_where 'compare something' 'gpus'
no_where 'os' 'os.exit()'
no_where 'endless loop' '(function() while true do end end)()'

# An experiment without a valid run: exit 3, in every format.
sed 's/gpus = .*}/gpus = 7 }/' x.lua >none.lua
for format in table md csv json; do
  orch plan none.lua --format "$format"
  exits 3 "no run is left, $format"
done

# No run fits: the next step is to find out why, not to submit.
sed 's/"gpt-1.3b", "bloom-7b"/"gpt-530b"/; s/{ 8, 16, 20 }/8/' x.lua >oom.lua
orch run oom.lua
exits 0 'nothing fits'
has "$out" 'no run fits' 'nothing fits'
lacks "$out" 'sbatch' 'nothing fits'
