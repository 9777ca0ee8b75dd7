#!/bin/bash
# The names of runs: the same after an upgrade, another with another trainer; and run folders can be
# moved.
. "$(dirname -- "$0")/lib.sh"

ids() { orch plan "$1" --format json && jq -r '.runs[].id' "$work/out" | sort; }

# Names do not depend on a cluster file's comments, constants or place.
experiment plain 3 >plain.lua
plain=$(ids plain.lua)
mkdir clusters
{ echo '# a comment'; cat -- "$ORCH_HOME/experiments/clusters/dgx-a100.yaml"; } >clusters/dgx-a100.yaml
same "$plain" "$(ids plain.lua)" 'a comment in a cluster file'
rm -r clusters

# Another trainer makes another run: it does not count as finished.
other=$(ORCH_TRAINER=/opt/other ids plain.lua)
if [ "$(printf '%s\n' "$plain" "$other" | sort -u | wc -l)" != 6 ]; then
  bad 'a trainer is part of a run' "$plain" "$other"
fi
sed 's|name = "plain"|name = "plain", trainer = "/opt/other"|' plain.lua >asked.lua
same "$other" "$(ids asked.lua)" 'in the file, or in the environment'
sed 's|gpus = 8|gpus = 8, environment = { ORCH_TRAINER = "/opt/other" }|' plain.lua >asked.lua
same "$other" "$(ids asked.lua)" 'in the environment of the jobs'
sed 's|name = "plain"|name = "plain", trainer = "../other"|' plain.lua >asked.lua
orch plan asked.lua
exits 3 'a trainer with a relative path'
has "$err" 'trainer:' 'a trainer with a relative path'
orch run plain.lua
run=$(find runs/plain -mindepth 1 -maxdepth 1 | head -n 1)
has "$(cat "$run/run.json")" '"stack": "orch-ddp"' 'the stack of our own trainer'
ORCH_TRAINER=/opt/other orch run plain.lua
has "$out" '3 run folders written to runs/plain/; 3 from earlier plans' 'a second trainer'
has "$(cat runs/plain/*/run.json)" '"trainer": "/opt/other"' 'a second trainer'
has "$(cat runs/plain/*/run.json)" '"stack": "other"' 'a second trainer'

# No file of a folder contains its path; moved, it is the same run.
mkdir -p "here too"
sed 's|name = "plain"|name = "moved", training = { data = "corpus/text" }|' plain.lua >"here too/moved.lua"
(cd "here too" && orch run moved.lua)
if grep -rF -- "$PWD" "here too/runs/moved"; then bad 'a run folder names its place'; fi
mv "here too" there
run=$(find there/runs/moved -mindepth 1 -maxdepth 1 -type d | head -n 1)
orch explain "$run"
exits 0 'explain a folder that was moved'
cd there
before=$(state_of runs)
orch run moved.lua
has "$out" 'nothing changed: all 3 run folders' 'a folder that was moved'
same "$before" "$(state_of runs)" 'a folder that was moved'
