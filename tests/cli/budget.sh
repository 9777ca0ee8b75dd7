#!/bin/bash
# The budget is for all runs together: used hours and those of runs queued or running count.
. "$(dirname -- "$0")/lib.sh"
. "$here/runs.sh"
. "$here/local.sh"

ids_of() { mapfile -t ids < <(find "runs/$1" -mindepth 2 -name run.json -printf '%h\n' | sed 's|.*/||' | sort); }
submissions() { find "runs/$1/submissions" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l; }
over() { # WHAT PART...: refused with these words
  local what=$1 part
  shift
  exits 6 "$what"
  for part in 'GPU-hours' "$@"; do has "$err" "$part" "$what"; done
}

# Each keeps it, both together do not.
at_home both 'steps 3 0.05' 0.7
local_orch run both.lua -y
over 'two runs' 'both: budget: 2 runs would take ' ', of ' '--over-budget submits them all the same'
same 0 "$(submissions both)" 'two runs: nothing was submitted'
local_orch run both.lua -y --take 1
exits 0 'one run'
has "$out" '1 run submitted as 1 job' 'one run'
has "$out" 'both: 1 finished; ' 'one run'
has "$out" ' GPU-hours used' 'one run'
# It took a second of the estimated time: there is room for the other.
local_orch run both.lua -y
exits 0 'the other run'
has "$out" '1 finished' 'the other run'
local_orch status both
has "$out" 'both: 2 finished' 'both in the end'

# None keeps it by itself.
at_home broke 'steps 3 0.05' 0.01
local_orch run broke.lua -y
exits 6 'none keeps it'
has "$out" 'stopped here: no run keeps the budget' 'none keeps it'
same 0 "$(submissions broke)" 'none keeps it: nothing was submitted'
local_orch run broke.lua -y --over-budget
exits 0 'none keeps it, --over-budget'
has "$out" '2 runs submitted as 1 job' 'none keeps it, --over-budget'

# Used hours count: an hour on two GPUs.
at_home spent 'steps 3 0.05' 0.7
local_orch run spent.lua -y
over 'nothing used yet'
ids_of spent
attempt "runs/spent/${ids[0]}" 1 finished
local_orch run spent.lua -y
over 'much was used' '1 run would take ' 'are used or committed, of '
same 0 "$(submissions spent)" 'much was used: nothing was submitted'
local_orch run spent.lua -y --over-budget
exits 0 '--over-budget'
has "$out" '1 run submitted as 1 job' '--over-budget'

# Money, too: what both cost by their estimates.
mkdir clusters
printf 'name: priced\nlike: local\noperation: { price: { value: 3 EUR, origin: "assumed: a test" } }\n' >clusters/priced.yaml
at_home money 'steps 3 0.05'
sed -i 's/"local"/"priced"/; s/gpu_hours = [^ ]*/money = 1e9/' money.lua
orch plan money.lua --format json
sed -i "s/1e9/$(python3 -c 'import json, sys
print(0.7 * sum(run["cost"] for run in json.load(open(sys.argv[1]))["runs"]))' "$work/out")/" money.lua
local_orch run money.lua -y
exits 6 'more money than there is'
has "$err" 'units of money' 'more money than there is'
same 0 "$(submissions money)" 'more money than there is: nothing was submitted'
local_orch run money.lua -y --take 1
exits 0 'one run is cheap enough'

# resume and retry also respect it.
at_home again 'exit 3' 0.7
local_orch run again.lua -y --take 1
exits 4 'a run that fails'
has "$out" 'failed' 'a run that fails'
ids_of again
for id in "${ids[@]}"; do
  if [ ! -e "runs/again/$id/attempts" ]; then attempt "runs/again/$id" 1 failed 'by hand'; fi
done
before=$(submissions again)
local_orch retry again -y
over 'retry of what was much'
same "$before" "$(submissions again)" 'retry of what was much: nothing was submitted'
local_orch retry again -y --over-budget
exits 4 'retry --over-budget, and it fails again'
if [ "$(submissions again)" -le "$before" ]; then bad 'retry --over-budget submits'; fi
# A run that was requested and never submitted.
rm -r runs/again/submissions "runs/again/${ids[1]}/"{attempts,state.json} runs/index.jsonl*
printf '%s\n' "${ids[@]}" >runs/again/wanted
attempt "runs/again/${ids[0]}" 1 failed 'by hand'
local_orch resume again -y
over 'resume of what was much' '1 run would take '
same 0 "$(submissions again)" 'resume of what was much: nothing was submitted'
local_orch resume again -y --over-budget
exits 4 'resume --over-budget, and it fails'
same 1 "$(submissions again)" 'resume --over-budget submits'
