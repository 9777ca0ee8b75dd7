#!/bin/bash
# Three strategies of the experiment that compares them on this machine: the same samples, the same
# loss. (All of them take longer; their numbers are held against each other in megatron_test.)
# shellcheck source=../cli/lib.sh
. "$(dirname -- "$0")/../cli/lib.sh"

orch run "$ORCH_HOME/experiments/strategies.lua" --runs runs \
  --where 'zero_stage == 1 or pipeline_parallel * tensor_parallel == 4 or (backend == "ddp" and compression == "none")'
exits 0 'run strategies'
has "$(cat "$work/out")" '3 finished' 'three of them finish'

orch status strategies --runs runs --format json
exits 0 'status as JSON'
python3 - "$work/out" <<'PY' || bad 'equal losses, measured beside estimated'
import json, sys
runs = json.load(open(sys.argv[1]))["runs"]
assert len(runs) == 3, len(runs)
for run in runs:
    for key in ("step_seconds", "tokens_per_second", "peak_memory_bytes", "communicated_bytes"):
        assert run["measured"][key] > 0 and run["estimate"][key] > 0, (run["id"], key)
losses = [run["measured"]["loss"] for run in runs]
assert max(losses) - min(losses) < 1e-5, losses
assert 3 < losses[0] < 6, losses  # ln 512 = 6.2 at first
PY
