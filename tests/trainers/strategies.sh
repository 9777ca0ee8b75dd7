#!/bin/bash
# Five strategies of the experiment that compares them on this machine: the same samples, the same
# loss. (All strategies take longer; megatron_test and zero_test compare their numbers.)
# shellcheck source=../cli/lib.sh
. "$(dirname -- "$0")/../cli/lib.sh"

# Odd sizes: tensors and the vocabulary are padded, which is sent too.
sed 's/model = "gpt-tiny"/model = gpt { layers = 4, hidden = 36, heads = 4, vocab = 100, seq = 24 }/' \
  "$ORCH_HOME/experiments/strategies.lua" >odd.lua
orch run odd.lua --runs runs --set steps=8 \
  --where 'strategy == "zero3" or zero_stage == 1 or pipeline_parallel * tensor_parallel == 4 or (backend == "ddp" and compression == "none")'
exits 0 'run strategies'
has "$(cat "$work/out")" '5 finished' 'five of them finish'

orch status strategies --runs runs --format json
exits 0 'status as JSON'
python3 - "$work/out" <<'PY' || bad 'equal losses, measured beside estimated'
import json, sys
runs = json.load(open(sys.argv[1]))["runs"]
assert len(runs) == 5, len(runs)
for run in runs:
    for key in ("step_seconds", "tokens_per_second", "peak_memory_bytes", "communicated_bytes"):
        assert run[key] > 0 and run["estimated_" + key] > 0, (run["id"], key)
    # What it gives to collectives is what was declared, to the byte.
    assert run["communicated_bytes"] == run["estimated_communicated_bytes"], run["id"]
losses = [run["last_loss"] for run in runs]
assert max(losses) - min(losses) < 1e-5, losses
assert 3 < losses[0] < 4.7, losses  # ln 100 = 4.6 at first
PY

# A log alone says what its run was.
mkdir logs
for run in runs/strategies/*/run.json; do
  run=$(dirname "$run")
  [ ! -e "$run/attempts/1/stdout.log" ] || cp "$run/attempts/1/stdout.log" "logs/$(basename "$run").out"
done
orch ingest logs --format json
exits 0 'logs of our own trainers'
python3 - "$work/out" runs/strategies <<'PY' || bad 'what a log of ours says of its run'
import json, sys
records = json.load(open(sys.argv[1]))["records"]
assert len(records) == 5, len(records)
for record in records:
    run = json.load(open(f"{sys.argv[2]}/{record['id'].removesuffix('.out')}/run.json"))
    asked = {"framework": run["strategy"], "dtype": run["settings"]["dtype"],
             "optimizer": run["settings"]["optimizer"]}
    for field in ("gpus", "tensor_parallel", "pipeline_parallel", "data_parallel", "micro_batch",
                  "accumulate", "global_batch"):
        asked[field] = run[field]
    for size in ("layers", "hidden", "heads", "vocab", "seq"):
        asked[size] = run["model"][size]
    said = {field: record.get(field) for field in asked}
    assert said == asked, (record["id"], said, asked)
    assert record["state"] == "finished" and record["measured"]["steps"] == 8, record["id"]
PY

# A rank that computes twice as long is named while the run goes on, and in its record.
export ORCH_TEST_SLOW_RANK=2:2
orch run "$ORCH_HOME/experiments/strategies.lua" --runs runs --set name=slow --set steps=2000 --where 'strategy == "ddp" and compression == "none"' -y --detach
exits 0 'a slow rank'
unset ORCH_TEST_SLOW_RANK
for _ in {1..120}; do
  orch status slow --runs runs
  if [[ $out == *'slow: rank 2 on '* ]]; then break; fi
  sleep 0.5
done
has "$out" "slow: rank 2 on $(hostname)" 'status names the slow rank'
orch cancel slow -y --runs runs
orch watch slow --runs runs --look-only

# One rank of each stage alone, on this machine or prepared as a script for another one.
for program in bash dirname mkdir realpath rm tail; do
  ln -s "$(command -v $program)" "$work/no_programs/"
done
where='pipeline_parallel * tensor_parallel == 4'
orch probe "$ORCH_HOME/experiments/strategies.lua" --where "$where"
exits 0 'probe'
has "$(cat "$work/out")" 'Communication is not in it' 'what is not measured is said'
orch probe "$ORCH_HOME/experiments/strategies.lua" --where "$where" --show --format json
exits 0 'probe as records'
cp "$work/out" probe.json
python3 - probe.json <<'PY' || bad 'memory of each stage'
import json, sys
first, last = json.load(open(sys.argv[1]))["records"]
assert (first["stage"], last["stage"]) == (0, 1)
for record in (first, last):
    assert record["origin"]["kind"] == "probe" and record["measured"]["step_seconds"], record
    ratio = record["estimated"]["peak_memory_bytes"] / record["measured"]["peak_memory_bytes"]
    assert 0.8 < ratio < 1.25, ratio
PY
orch compare stage=0 stage=1 --in probe.json
exits 0 'records of a probe can be compared'
cat >vast.lua <<'LUA'
return experiment {
  name = "vast", model = gpt { layers = 2, hidden = 262144, heads = 1024, vocab = 50257, seq = 2048 },
  hardware = { cluster = "local", gpus = 1 }, batch = { global_batch = 1 }, tokens = 1e6,
  strategies = { megatron {} },
}
LUA
CUDA_VISIBLE_DEVICES='' orch probe vast.lua
exits 1 'a slice that is larger than the machine'
has "$err" 'which has no GPU' 'what it needs is said before anything is taken'
rm -r probes
orch probe "$ORCH_HOME/experiments/strategies.lua" --where "$where" --prepare
exits 0 'prepare'
mv probes elsewhere
elsewhere/*/run "$(dirname "$orch_program")/orch-train-megatron" stage-1 >said 2>&1 || bad "a slice elsewhere: $(cat said)"
mv elsewhere probes
orch probe "$ORCH_HOME/experiments/strategies.lua" --where "$where" --show
exits 4 'a slice that has not run'
has "$(cat "$work/out")" 'has not run' 'it is named'
