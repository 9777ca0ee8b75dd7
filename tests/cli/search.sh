#!/bin/bash
# orch search: its output for people and programs, errors, Ctrl-C.
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

orch search x.lua --format csv --top 2
exits 0 csv
same "list,$(orch plan x.lua --format csv && head -n 1 "$work/out"),headroom" \
  "$(orch search x.lua --format csv --top 2 && head -n 1 "$work/out")" 'the columns of a plan'
has "$err" 'next: orch search' 'csv: the notes go to stderr'
orch search x.lua --format md
exits 0 md
has "$out" '## Best by time to train' md
has "$out" '## Pareto front' md
orch search x.lua
exits 0 table
for part in 'Best by time to train' 'Best of each strategy' 'Best by memory headroom' \
  '90 % range' 'Pareto front' 'more layouts may be as fast (within the error of the estimates)' 'the runner-up, ' '% longer; per step: ' 'the best as Lua: ' 'next: orch search x.lua --write'; do
  has "$out" "$part" 'search'
done
lacks "$out" $'\e' 'no colours where nobody looks'

COLUMNS=80 orch search x.lua
has "$out" 'no room here for:' 'what 80 columns leave out'
for head in TP PP; do has "$(grep -m1 '^ *#' <<<"$out")" " $head " 'layouts in 80 columns'; done
for list in 'Pareto front' 'Best by memory headroom'; do
  has "$(grep -A 9 "^$list" <<<"$out" | grep -m1 '^ *#')" 'peak GiB' "memory of: $list"
done
same '' "$(grep 'days/100B' <<<"$out" | awk 'length($0) > 80')" 'no table is wider'

orch search x.lua --open flash_attention --keep recompute --where 'gpus == 8'
has "$out" "next: orch search x.lua --keep recompute --open flash_attention --where 'gpus == 8' --write best.lua" \
  'the next step is of the same search'
orch search x.lua --write best.lua
exits 0 'the best is written'
orch run best.lua --dry-run
exits 0 'run of what was written'

# Errors that the command line reports itself.
orch search
exits 2 'no file'
has "$err" 'FILE is required' 'no file'
orch search x.lua --top 0
exits 2 'a list of nothing'

# Ctrl-C prints the best so far: a space that takes minutes, stopped after a moment.
sed 's/{ 8, 16 }/512/; s/gpt-1.3b/gpt-145b/; s/= 16/= 4096/' x.lua >huge.lua
code=0
"$orch_program" search huge.lua --open all --threads 1 --format json >"$work/out" 2>"$work/err" </dev/null &
pid=$!
# After two seconds of processor time, on any load: utime, in hundredths of a second.
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
search = data["search"]
assert search["complete"] is False and 0 < search["evaluated"] < search["space"]
PY
