#!/bin/bash
# Every quantity of every shipped experiment and source: the same number wherever it is shown.
. "$(dirname -- "$0")/lib.sh"

shopt -s nullglob
experiments=()
for file in "$ORCH_HOME"/experiments/*.lua; do
  case ${file##*/} in
  models.lua | strategies.lua) ;; # what others include
  *) experiments+=("$file") ;;
  esac
done
if ! python3 "$here/same.py" "$orch_program" "${experiments[@]}"; then bad 'the same numbers everywhere'; fi

# Also in status, for runs that wait for a scheduler. With a price, so that there is a cost.
mkdir -p priced/clusters
cp "$ORCH_HOME/experiments/bloom7b_days.lua" priced
sed 's/^operation:/&\n  price: { value: 0.60 EUR, origin: "assumed" }/' "$ORCH_HOME/experiments/clusters/jean-zay.yaml" >priced/clusters/jean-zay.yaml
orch plan priced/bloom7b_days.lua --format json
cp "$work/out" plan.json
orch run priced/bloom7b_days.lua --yes
for format in json csv; do
  orch status --format "$format"
  exits 0 "status in $format"
  cp "$work/out" "status.$format"
done
if ! python3 - <<'PY'; then bad 'plan and status agree'; fi
import csv, json
plans = {run["id"]: run for run in json.load(open("plan.json"))["runs"]}
runs = json.load(open("status.json"))["runs"]
rows = list(csv.DictReader(open("status.csv")))
assert len(runs) == len(rows) > 50, (len(runs), len(rows))
for run, row in zip(runs, rows):
    plan = plans[run["id"]]
    estimates = {key.removeprefix("estimated_"): value for key, value in run.items() if key.startswith("estimated_")}
    for name, value in estimates.items():
        if name == "fit" or name not in plan or value is None:
            continue
        assert abs(value - plan[name]) <= 1e-6 * abs(plan[name]), (run["id"], name, value, plan[name])
        cell = row.get("estimated_" + name)
        assert cell is None or abs(float(cell) - value) <= 1e-9 * abs(value), (run["id"], name, cell, value)
for name in rows[0]:
    is_result = name.startswith("estimated_")
    assert not is_result or any(row[name] for row in rows), f"{name} is always empty"
PY
