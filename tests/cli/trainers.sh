#!/bin/bash
# Trainers are built before the first local run, if ORCH_BUILD_TRAINERS names the script. orch is a
# copy here: beside it are the trainers of this test.
. "$(dirname -- "$0")/lib.sh"
. "$here/runs.sh"
. "$here/local.sh"
ORCH_PLUGINS=$(dirname -- "$(dirname -- "$orch_program")")/plugins
export ORCH_PLUGINS
mkdir "$work/bin"
cp -- "$orch_program" "$work/bin/orch"
orch_program=$work/bin/orch
for tool in cp chmod rm; do ln -s "$(command -v "$tool")" "$work/tools/$tool"; done
export TEST_BIN=$work/bin STAND_IN=$stand_in CALLS=$work/calls

# Records that it was called, and "builds" what it is told to.
cat >"$work/build" <<'SH'
#!/usr/bin/env bash
echo "$*" >>"$CALLS"
echo "setup: building the trainer orch-train-$1" # on stdout, which is the table's
case $1 in ddp) ;; *) exit 3 ;; esac
[ -z "${FAIL-}" ] || { echo 'setup: the compiler says no' >&2; exit 1; }
cp -- "$STAND_IN" "$TEST_BIN/orch-train-$1"
SH
chmod +x "$work/build"

# one NAME STRATEGY [BEHAVIOUR]: one run on this machine.
one() {
  cat >"$1.lua" <<LUA
return experiment {
  name = "$1", model = "gpt-tiny", hardware = { cluster = "local", gpus = 1, environment = { BEHAVIOUR = "${3-steps 8 0.02}" } },
  batch = { global_batch = 8 }, tokens = 1e6, strategies = { $2 },
}
LUA
}
calls() { cat "$CALLS" 2>/dev/null || true; }

# Without a script: what is missing, and what to do.
one alone 'ddp { dtype = "fp32" }'
local_orch run alone.lua -y
exits 1 'nobody can build, and yes was said'
has "$out" "no trainer to start: $work/bin/orch-train-ddp" 'nobody can build'
has "$out" './orch of a clone' 'nobody can build'
has "$out" '--target orch-train-ddp' 'nobody can build'

# A trainer on PATH is enough, as for a job.
ln -s "$stand_in" "$work/tools/orch-train-ddp"
one path 'ddp { dtype = "fp32" }'
local_orch run path.lua -y
exits 0 'a trainer on PATH'
has "$out" '1 finished' 'a trainer on PATH'
local_orch doctor
has "$out" "$work/tools/orch-train-ddp" 'a trainer on PATH: doctor'
rm -- "$work/tools/orch-train-ddp"

# It is built, which is reported on stderr only, and the run continues.
export ORCH_BUILD_TRAINERS=$work/build
local_orch run alone.lua -y --format json
exits 0 'built'
same ddp "$(calls)" 'built once'
has "$err" 'setup: building the trainer orch-train-ddp' 'built'
same "['finished']" "$(json '[run["state"] for run in doc["status"]]')" 'built'
local_orch run alone.lua -y
same ddp "$(calls)" 'nothing is left to run: nothing is built'
has "$out" '1 finished' 'nothing is left to run'

# After a failed build nothing is started.
one broken 'ddp { dtype = "fp32" }'
FAIL=yes local_orch run broken.lua -y
exits 1 'a build that fails'
has "$err" 'the compiler says no' 'a build that fails'
has "$err" 'orch-train-ddp: could not be built' 'a build that fails'
same 0 "$(find runs/broken/submissions -mindepth 1 2>/dev/null | wc -l)" 'a build that fails'

# A backend that only estimates.
one estimates 'zero3 { dtype = "fp32" }'
local_orch run estimates.lua -y
exits 1 'no such trainer'
has "$err" 'orch-train-zero3: this backend has no trainer' 'no such trainer'
has "$err" "--where 'backend ~= \"zero3\"'" 'no such trainer'

# The user's own program needs no trainer; one that cannot be started is an error.
: >"$CALLS"
ORCH_TRAINER=$stand_in local_orch run broken.lua -y
exits 0 'ORCH_TRAINER'
same '' "$(calls)" 'ORCH_TRAINER'
# One that exits with 0 and has not trained is not finished, and not retried.
one hollow 'ddp { dtype = "fp32" }'
ORCH_TRAINER=$(type -P true) local_orch run hollow.lua -y
exits 4 'a trainer that does nothing'
lacks "$out" '1 finished' 'a trainer that does nothing'
has "$out" 'early exit: exited with code 0 after 0 of 977 steps' 'a trainer that does nothing'
has "$out" "writes the file 'finished' in the folder of its attempt" 'a trainer that does nothing'
same 1 "$(find runs/hollow/*/attempts -mindepth 1 -maxdepth 1 | wc -l)" 'a trainer that does nothing'
one nobody 'ddp { dtype = "fp32" }'
ORCH_BUILD_TRAINERS=/no/such/script local_orch run nobody.lua -y
exits 1 'no such script'
has "$err" '/no/such/script' 'no such script'

# Also before a run is retried.
one again 'ddp { dtype = "fp32" }' 'exit 3'
local_orch run again.lua -y
exits 4 'a run that fails'
: >"$CALLS"
local_orch retry again -y
exits 4 retry
same ddp "$(calls)" retry

# The clone's own script: no trainer, no build.
code=0
"$ORCH_HOME/cmake/trainers" no-such-backend 2>"$work/err" || code=$?
exits 3 'a backend that the clone does not have'
same '' "$(cat "$work/err")" 'a backend that the clone does not have'
