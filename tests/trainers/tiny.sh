#!/bin/bash
# The experiment that trains on this machine, as a user runs it: five real trainings, measurements
# beside estimates. PowerSGD begins after ten steps; the others need no more.
# shellcheck source=../cli/lib.sh
. "$(dirname -- "$0")/../cli/lib.sh"

orch run "$ORCH_HOME/experiments/tiny.lua" --runs runs --where 'compression ~= "powersgd"' --set steps=10
exits 0 'run tiny'
has "$(cat "$work/out")" '4 finished' 'all of them finish'
orch run "$ORCH_HOME/experiments/tiny.lua" --runs runs --where 'compression == "powersgd"'
exits 0 'run what is compressed'
has "$(cat "$work/out")" '1 finished' 'it finishes too'

orch status tiny --runs runs --format json
exits 0 'status as JSON'
python3 - "$work/out" <<'PY' || bad 'measured beside estimated'
import json, sys
runs = json.load(open(sys.argv[1]))["runs"]
assert len(runs) == 5, len(runs)
by = {}
for run in runs:
    for key in ("step_seconds", "tokens_per_second", "peak_memory_bytes", "communicated_bytes"):
        assert run[key] > 0, (run["id"], key)
        assert run["estimated_" + key] > 0, (run["id"], key)
    # 875,264 parameters of 4 bytes, each at a multiple of 256 bytes, and the loss.
    plain = 3_501_056 <= run["communicated_bytes"] < 3_520_000
    assert plain == ("powersgd" not in run["id"]), (run["id"], run["communicated_bytes"])
    assert 3 < run["last_loss"] < 6, run["last_loss"]  # ln 512 = 6.2 at first
    by[run["id"].rsplit("-", 1)[0]] = run["last_loss"]
# The same samples, however they are cut: two ranks, four ranks, accumulated.
same = [by[f"gpt-tiny-ddp-{cut}-fp32"] for cut in ("2gpu-dp2-mb8", "4gpu-dp4-mb4", "2gpu-dp2-mb2")]
assert max(same) - min(same) < 1e-5, same
PY

orch explain "$ORCH_HOME/experiments/tiny.lua" --runs runs
exits 0 'explain a run that was run'
has "$(cat "$work/out")" 'MLP up' 'time by item'
has "$(cat "$work/out")" 'optimizer states' 'memory by item'
has "$(cat "$work/out")" ' %' 'errors'
