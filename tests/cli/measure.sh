#!/bin/bash
# orch calibrate --this-machine, and what orch run measures by itself: with a stand-in that prints a
# recorded output of orch-measure.
# shellcheck source=lib.sh
. "$(dirname -- "$0")/lib.sh"
. "$here/local.sh"
for tool in cp rm; do ln -s "$(command -v "$tool")" "$work/tools/$tool"; done
at_home tiny 'steps 4 0.02'

cp "$here/measured.json" "$work/says.json"
cat >"$work/measure" <<SH
#!/usr/bin/env bash
echo "\$RANK of \$WORLD_SIZE" >>"$work/measured.log"
if [ "\$RANK" = 0 ]; then cat "$work/says.json" >"\$2"; fi
SH
cat >"$work/broken" <<'SH'
#!/usr/bin/env bash
echo 'no such device' >&2
exit 7
SH
chmod +x "$work/measure" "$work/broken"
own=$XDG_DATA_HOME/orch/machines/$(uname -n)/local.yaml
tiny=tiny.lua
times() { grep -c . "$work/measured.log" 2>/dev/null || true; }

# --- without a measuring program
orch calibrate --this-machine
exits 1 'no measuring program'
has "$err" 'orch-measure not found' 'no measuring program'
ORCH_MEASURE=$work/broken local_orch calibrate --this-machine
exits 1 'a program that fails'
has "$err" 'exited with code 7' 'a program that fails'
has "$err" 'no such device' 'a program that fails'
[ ! -e "$own" ] || bad 'a program that fails leaves no file'

# --- on request
ORCH_MEASURE=$work/measure local_orch calibrate --this-machine --ranks 3
exits 0 'three ranks'
same 3 "$(grep -c 'of 3' "$work/measured.log")" 'three ranks'
has "$out" 'gpu_constants.peak.fp32' 'three ranks'
has "$out" 'efficiency.softmax' 'three ranks'
has "$err" "written to $own" 'three ranks'
has "$(cat "$own")" 'measured_ranks: ' 'three ranks'
orch clusters local
exits 0 'the cluster'
has "$out" 'this computer: ' 'the cluster'
has "$out" 'measured on ' 'the cluster'
orch plan "$tiny"
has "$out" '(measurements of ' 'a plan by what was measured'

ORCH_MEASURE=$work/measure local_orch calibrate --this-machine -o mine/desk.yaml --format json
exits 0 'another file'
python3 - "$work/out" "$here/measured.json" <<'PY' || bad 'the JSON'
import json, sys
data, said = (json.load(open(file)) for file in sys.argv[1:])
assert data["machine"]["cluster"] == "desk" and data["machine"]["file"] == "mine/desk.yaml", data
constants = {row["name"]: row["after"] for row in data["constants"]}
best = max(2 * row["m"] * row["n"] * row["k"] / row["seconds"] for row in said["products"])
assert abs(constants["gpu_constants.peak.fp32"] / best - 1) < 1e-6, constants
assert constants["intra_node.bandwidth"] > 1e8, constants
PY
has "$(cat mine/desk.yaml)" 'name: desk' 'another file'
ORCH_MEASURE=$work/measure local_orch calibrate --this-machine -o notes.txt
exits 2 'a file that is no cluster'
orch calibrate --this-machine --from rows.csv
exits 2 'measuring and fitting at once'
orch calibrate --ranks 2
exits 2 'ranks of nothing'
for nonsense in '' '{}' '{"version": 1}' 'nan'; do
  printf '%s' "$nonsense" >"$work/says.json"
  ORCH_MEASURE=$work/measure local_orch calibrate --this-machine
  exits 1 "a program that says '$nonsense'"
done
cp "$here/measured.json" "$work/says.json"

# --- before a run
rm -r "$XDG_DATA_HOME" "$work/measured.log"
ORCH_MEASURE=$work/measure local_orch plan "$tiny"
ORCH_MEASURE=$work/measure local_orch explain "$tiny"
ORCH_MEASURE=$work/measure local_orch run "$tiny" --dry-run
ORCH_MEASURE=$work/measure local_orch run "$tiny" --no-calibrate
same '' "$(times)" 'plan, explain and the dry run measure nothing'
ORCH_MEASURE=$work/broken local_orch run "$tiny"
has "$err" 'could not be measured, so its estimates are guesses' 'a run goes on without'
has "$out" 'not calibrated' 'a run goes on without'
ORCH_MEASURE=$work/measure local_orch run "$tiny"
has "$err" 'local: measuring this machine before its first run' 'the first run measures'
has "$err" "local: measured; $own" 'the first run measures'
has "$out" '(measurements of ' 'the first run measures'
before=$(times)
ORCH_MEASURE=$work/measure local_orch run "$tiny"
same "$before" "$(times)" 'the second does not'
lacks "$err" 'measuring' 'the second does not'

sed -i 's/^measured: { machine: "[^"]*"/measured: { machine: "Abacus x 7"/' "$own"
ORCH_MEASURE=$work/measure local_orch run "$tiny"
has "$err" 'local: measured on Abacus x 7, but this is ' 'another machine'
[ "$(times)" -gt "$before" ] || bad 'another machine is measured again'
lacks "$(cat "$own")" 'Abacus' 'another machine'

# A file beside the experiment has priority.
rm -r "$XDG_DATA_HOME"
before=$(times)
mkdir clusters
cp "$ORCH_HOME/experiments/clusters/local.yaml" clusters/
ORCH_MEASURE=$work/measure local_orch run tiny.lua
same "$before" "$(times)" 'a cluster beside the experiment is taken as it is'
experiment elsewhere 1 >elsewhere.lua
ORCH_MEASURE=$work/measure local_orch run elsewhere.lua
same "$before" "$(times)" 'other clusters are not measured'

# --- built if possible; orch is a copy here, with nothing beside it
rm -r clusters
ORCH_PLUGINS=$(dirname -- "$(dirname -- "$orch_program")")/plugins
export ORCH_PLUGINS TEST_BIN=$work/bin
mkdir "$work/bin"
cp -- "$orch_program" "$work/bin/orch"
orch_program=$work/bin/orch
unset ORCH_MEASURE
local_orch run tiny.lua
same "$before" "$(times)" 'nobody can build it'
cat >"$work/build" <<SH
#!/usr/bin/env bash
echo "\$*" >>"$work/calls"
if [ "\$1" != measure ]; then exit 3; fi
cp "$work/measure" "$TEST_BIN/orch-measure"
SH
chmod +x "$work/build"
ORCH_BUILD_TRAINERS=$work/build local_orch run tiny.lua
same measure "$(cat "$work/calls")" 'it is built'
has "$err" 'local: measured; ' 'it is built'
rm -r "$XDG_DATA_HOME" "$work/bin/orch-measure"
ORCH_BUILD_TRAINERS=/no/such/script local_orch run tiny.lua
has "$err" 'could not be measured' 'no such script'
ORCH_BUILD_TRAINERS=/no/such/script local_orch calibrate --this-machine
exits 1 'no such script'
