#!/bin/bash
# Logs of other programs: options of the command line, and the handling of files.
. "$(dirname -- "$0")/lib.sh"

# titan FIRST LAST DATE: lines of torchtitan, 4 s per step by their dates, without the batch.
titan() {
  echo "[rank0]:[titan] $3 10:00:00,000 - root - INFO - Training starts at step 1"
  for ((step = $1; step <= $2; step++)); do
    printf '[rank0]:[titan] %s 10:%02d:%02d,000 - root - INFO - step: %2d  loss:  9.1000  memory: 30.00GiB(38%%)  tps: 8,192  tflops: 100.00  mfu: 10.00%%\n' \
      "$3" $((step * 4 / 60)) $((step * 4 % 60)) "$step"
  done
}
titan 1 40 2021-05-25 >old.out
orch ingest old.out
exits 0 'a log of torchtitan'
has "$out" 'torchtitan' 'its framework'
has "$out" 'stopped' 'a log of 2021 does not go on, though its file is new'
lacks "$out" ' ddp' 'nothing is made up'
orch ingest old.out --set gbs=8 --set seq=4096 --set gpus=1 --format json
cp "$work/out" set.json
if ! python3 - <<'PY'; then bad 'what is set counts before times are computed' "$out"; fi
import json
run, = json.load(open("set.json"))["records"]
measured = run["measured"]
assert measured["step_seconds"] == 4 and measured["tokens_per_second"] == 8192, measured
assert abs(measured["days_per_100b_tokens"] - 100e9 / 8192 / 86400) < 1e-6, measured
PY
orch ingest old.out --cluster dgx-a100 --set gpus=8 --format csv
has "$(cut -d, -f5 <<<"$out")" 'dgx-a100' 'the cluster is in the CSV'
# 6.65B parameters on one unknown GPU: 8 x 4096 tokens in 4 s are 327 TFLOPs by 6 per parameter and
# token, 256 times as many tokens 83,676.
for step in {1..6}; do
  echo " iteration $step/ 100 | elapsed time per iteration (ms): 4000.0 | global batch size: 8 | lm loss: 9.1E+00 |"
done >unnamed.out
shape=(--set layers=32 --set hidden=4096 --set heads=32 --set vocab=50257 --set gpus=1)
orch ingest unnamed.out "${shape[@]}" --set seq=4096
lacks "$out" 'above the peak' 'a speed that some GPU has'
orch ingest unnamed.out "${shape[@]}" --set seq=1048576
has "$out" 'above the peak' 'a speed that no GPU has is doubted though none is named'
orch ingest old.out --set gbs=many
exits 1 'no number'

titan 1 40 "$(date -u +%F)" >new.out
orch ingest new.out
has "$out" 'running' 'a log of today goes on'

# Copies, compressed logs, and logs of an unknown framework.
mkdir logs
cp old.out logs/a.out
cp old.out logs/b.out
echo '"hidden_size": 2048' >logs/c.out
orch ingest logs
has "$err" 'logs/b.out: the same as logs/a.out' 'a copy'
has "$err" 'logs/c.out: lines of huggingface, but no step that a pattern reads' 'not claimed'
same 1 "$(grep -c '^a.out .*torchtitan' <<<"$out")" 'one run'
if command -v gzip >/dev/null; then
  ln -s "$(command -v gzip)" "$work/no_programs/gzip"
  gzip -c old.out >packed.out.gz
  orch ingest packed.out.gz
  exits 0 'a compressed log'
  has "$out" 'packed.out.gz' 'a compressed log'
  rm "$work/no_programs/gzip"
  orch ingest packed.out.gz
  exits 1 'without the program that unpacks it'
  has "$err" 'compressed (gzip): gzip cannot be started here' 'it says so'
fi

# Values that a log omits stay empty; those that its framework implies are marked as assumed.
cat >trainer.out <<'LOG'
***** Running training *****
  Instantaneous batch size per device = 4
  Total train batch size (w. parallel, distributed & accumulation) = 32
  Gradient Accumulation steps = 1
  Total optimization steps = 20
{'loss': 3.5, 'epoch': 0.1}
{'train_runtime': 100.0, 'train_samples_per_second': 6.4, 'train_steps_per_second': 0.2, 'epoch': 1.0}
LOG
orch ingest trainer.out
lacks "$out" 'ddp' 'a Trainer that names no strategy has none'
orch ingest trainer.out --set framework=fsdp
has "$out" 'fsdp' 'what a person says of it counts'
lacks "$out" 'fsdp*' 'what a person said is not assumed'
printf 'Num_devices: 8, shape (8,)\n' >devices.out
for i in 1 2 3 4; do
  echo "completed step: $i, seconds: 2.00$i, TFLOP/s/device: 150.5, loss: 9.$i"
done >>devices.out
orch ingest devices.out
has "$out" '1*' 'an assumed layout has a star'
has "$out" 'Assumed (*)' 'and is named'

# Values of --set are checked: the GPU and the number format must be known.
orch ingest trainer.out --set gpu=zz --set dtype=zz
exits 1 'a GPU and a format that nobody has'
has "$err" "--set gpu: no GPU 'zz'" 'a GPU that nobody has'
has "$err" "--set dtype: no GPU computes in 'zz'" 'a format that nobody has'
has "$err" 'one of: ' 'which formats there are'
same '' "$out" 'nothing is printed of it'
orch ingest trainer.out --set gpu=a100-80 --set dtype=bf61
has "$err" "did you mean 'a100-80g'?" 'a typo in a GPU'
has "$err" "did you mean 'bf16'?" 'a typo in a format'
for said in gpu=a100 'gpu=NVIDIA A100-SXM4-80GB' gpu=cpu dtype=fp32 dtype=bf16 dtype=fp8; do
  orch ingest trainer.out --set "$said"
  exits 0 "--set $said"
done
