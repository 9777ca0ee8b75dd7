#!/usr/bin/env bash
# shellcheck disable=SC2154 # out, err and code are the library's
# PyTorch through templates/frameworks/torch_driver.py beside our ddp trainer: one file, two ranks each,
# the same losses to what fp32 rounds. Skipped where there is no PyTorch or no trainer.
# shellcheck source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
if ! python3 -c 'import numpy, torch, torch.distributed' 2>/dev/null || [ ! -x "${orch_program%/*}/orch-train-ddp" ]; then
  echo 'no PyTorch for python3, or no orch-train-ddp'
  exit 77
fi

# compare NAME MODEL DATA TOLERANCE: both programs train, and their losses and norms are compared.
compare() {
  cat >"$1.lua" <<LUA
return experiment {
  name = "$1", steps = 6, model = $2, hardware = { cluster = "local", gpus = 2 },
  batch = { global_batch = 8, micro_batch = 2 },
  training = { learning_rate = 1e-3, warmup_steps = 2, evaluate_every = 3, evaluate_batches = 1, clip = 0.5 $3 },
  strategies = { ddp { dtype = "fp32" }, ddp { dtype = "fp32", framework = "torch" } },
}
LUA
  code=0
  "$orch_program" run "$1.lua" --runs runs -y --no-calibrate >"$work/out" 2>"$work/err" </dev/null || code=$?
  err=$(cat "$work/err")
  exits 0 "$1"
  python3 - "runs/$1" "$4" <<'END' || bad "$1: the losses are equal" "$(tail -n 5 runs/"$1"/*torch*/attempts/1/stdout.log)"
import glob, json, sys
def numbers(folder):
    events = [json.loads(line) for line in open(folder + "/attempts/1/events.jsonl")]
    return [(e["event"], e["step"], e["loss"], e.get("gradient_norm", 0)) for e in events if e["event"] in ("step", "evaluation")]
theirs = glob.glob(sys.argv[1] + "/*torch*")[0]
ours = next(f for f in glob.glob(sys.argv[1] + "/*-ddp-*") if f != theirs)
a, b = numbers(ours), numbers(theirs)
assert len(a) == len(b) == 8, (len(a), len(b))
for x, y in zip(a, b):
    assert x[:2] == y[:2] and all(abs(p - q) <= float(sys.argv[2]) * abs(p) for p, q in zip(x[2:], y[2:])), (x, y)
END
}

compare synthetic 'gpt { name = "t", layers = 2, hidden = 64, heads = 4, vocab = 500, seq = 32 }' '' 1e-5
compare alibi 'bloom { name = "b", layers = 2, hidden = 64, heads = 4, vocab = 500, seq = 32 }' '' 1e-5
# Three epochs of a small text, the last one shuffled separately.
for ((i = 0; i < 60; i++)); do echo "line $i of a string that says $((i * i)) and ends"; done >text.txt
orch data build text.txt --output text --split-lines
if [ "$code" = 0 ]; then
  compare indexed 'gpt { name = "i", layers = 2, hidden = 64, heads = 4, vocab = 512, seq = 48 }' ', data = "text", split = "90,10,0"' 1e-5
else
  bad 'a string is built' "$err"
fi
