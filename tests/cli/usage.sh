#!/bin/bash
# The command line itself: errors, help, colours, pipes.
. "$(dirname -- "$0")/lib.sh"

wrong() { # PART ARGUMENTS...: a usage error that says PART
  local part=$1
  shift
  orch "$@"
  exits 2 "orch $*"
  has "$err" "$part" "orch $*"
  same '' "$out" "orch $*: nothing on stdout"
}
wrong "one of: run, tune, status, watch, logs, cancel, resume, retry, inspect, index, plan, search, price, \
explain, probe, ingest, compare, report, check, backends, clusters, models, validate, calibrate, data, export, import, doctor, completion, help, version"
wrong "did you mean 'status'?" statsu
wrong "did you mean 'resume'?" resum
wrong "did you mean '--follow'?" logs --folow x
wrong "did you mean '--over-budget'?" retry --over-buget
wrong "RUN is required" logs
wrong "RUN is required" inspect
wrong "'-1' is not an integer" logs x --rank -1
wrong "'0' is not an integer" logs x --attempt 0
wrong "'x' is not an integer" watch --settle x
wrong "'xml' is not one of table, md, csv, json" status --format xml
wrong "'svg' is not one of table, md, csv, json" doctor --format svg
wrong "did you mean 'run'?" rnu x.lua
wrong "did you mean 'explain'?" explian x
wrong "did you mean '--help'?" --hepl
wrong "FILE is required" run
wrong "did you mean '--format'?" run --formt md x.lua
wrong "did you mean '--where'?" plan x.lua --were=1
wrong "'xml' is not one of table, md, csv, json" plan x.lua --format xml
wrong "'-1' is not an integer" run --top -1 x.lua
wrong "'nan' is not an integer" plan --max-runs nan x.lua
wrong "'0' is not an integer" plan --max-runs 0 x.lua
wrong "RUN is required" export -o x
wrong "--output is required" import x
wrong "'int8' is not one of f32, bf16, f16" export x -o y --dtype int8
wrong "y.lua" plan x.lua y.lua
wrong "RUN is required" explain
wrong "'2026-02-30' is not a date such as 2026-12-01" explain x --start 2026-02-30
wrong "'tcsh' is not one of bash, zsh, fish" completion tcsh
wrong "'-1' is not a number above 0" models --gpus -1
wrong "'inf' is not a number above 0" models --tokens inf
wrong "needs --tokens and --tflops" models --params 1e9
orch plan $'x\e[2J\n.lua' --formt
lacks "$err" $'\e' "a hostile word"

orch --version
exits 0 --version
has "$out" 'orch 0' --version
orch --help
exits 0 --help
has "$out" 'Exit codes: 0 ok, 1 error, 2 usage, 3 invalid experiment' --help
for verb in run status watch logs cancel resume retry inspect doctor index plan search explain probe backends \
  clusters models export import completion; do
  orch "$verb" --help
  exits 0 "$verb --help"
  has "$out" 'Examples:' "$verb --help"
  has "$out" "orch $verb" "$verb --help"
  has "$(PATH=$work/no_programs "$orch_program" --help)" "  $verb " "--help lists $verb"
done

# Internal verbs are not listed.
orch --help
lacks "$out" _local 'a verb of its own'
orch _loca
lacks "$err" _local 'a verb of its own'
orch _local
exits 2 'a verb of its own, without what it takes'
orch _local "$PWD/nowhere/submissions/0001-0123456789abcdef"
exits 1 'a verb of its own, with nothing there'

# Every example of an experiment in the help exists.
for verb in run plan search explain; do
  orch "$verb" --help
  while read -r file; do
    if [ ! -e "$ORCH_HOME/$file" ]; then bad "$verb --help speaks of $file" "it is not there"; fi
  done < <(grep -o 'experiments/[a-z0-9_]*\.lua' <<<"$out")
done

# Unknown names.
orch models gpt-104
exits 1 'an unknown model'
has "$err" "did you mean 'gpt-104b'?" 'an unknown model'
orch clusters jeanzay
exits 1 'an unknown cluster'
has "$err" "did you mean 'jean-zay'?" 'an unknown cluster'
orch backends megatorn
exits 1 'an unknown backend'
has "$err" "did you mean 'megatron'?" 'an unknown backend'
ORCH_HOME=/nowhere orch plan x.lua
exits 1 'a wrong ORCH_HOME'
has "$err" 'set ORCH_HOME' 'a wrong ORCH_HOME'

orch plan /dev/zero
exits 3 'a file without an end'
has "$err" 'is larger than 64 MiB' 'a file without an end'
experiment piped 1 >piped.lua
orch plan <(cat piped.lua)
exits 0 'an experiment from a pipe'

# Colours are for terminals: none in a pipe, none with NO_COLOR. `script` provides a terminal.
experiment colours 2 >x.lua
orch plan x.lua
lacks "$out$err" $'\e' 'no colours in a pipe'
if script -qec true /dev/null >/dev/null 2>&1; then
  on_terminal() { script -qec "$1 $orch_program plan x.lua" /dev/null; }
  has "$(on_terminal 'env TERM=xterm')" $'\e[1m' 'colours on a terminal'
  lacks "$(on_terminal 'env TERM=xterm NO_COLOR=1')" $'\e[' 'no colours with NO_COLOR'
  lacks "$(on_terminal 'env TERM=dumb')" $'\e[' 'no colours on a dumb terminal'
else
  echo 'SKIPPED: no terminal can be made here to see colours on'
fi

# No line that orch formats is longer than the screen.
for columns in 120 80 40; do
  for arguments in "plan $ORCH_HOME/experiments/200b.lua" "explain $ORCH_HOME/experiments/200b.lua"; do
    # shellcheck disable=SC2086
    COLUMNS=$columns orch $arguments
    exits 0 "COLUMNS=$columns $arguments"
    widest=$(python3 -c 'import sys; print(max(len(line.rstrip("\n")) for line in open(sys.argv[1])))' "$work/out")
    limit=$columns
    # Names of runs (at most 100 characters) and of items are never broken.
    if [[ $arguments = explain* ]]; then limit=$((columns > 100 ? columns : 100)); fi
    if [ "$widest" -gt "$limit" ]; then bad "COLUMNS=$columns $arguments" "$widest columns"; fi
  done
done
for columns in 0 1 -5 many 99999999999999999999999; do
  COLUMNS=$columns orch plan x.lua
  exits 0 "COLUMNS=$columns"
done

# A reader that closes the pipe is not an error; a full disk is.
set +o pipefail
experiment long 3000 >long.lua
"$orch_program" plan long.lua --top 0 2>"$work/err" | head -n 1 >/dev/null
same 0 "${PIPESTATUS[0]}" 'orch | head'
set -o pipefail
same '' "$(cat "$work/err")" 'orch | head says nothing'
for format in table json; do
  code=0
  "$orch_program" plan long.lua --top 0 --format "$format" >/dev/full 2>"$work/err" || code=$?
  exits 1 "a full disk, $format"
  has "$(cat "$work/err")" 'No space left' "a full disk, $format"
done

# If stdout and stderr are one file, an error is printed below the table that it is about.
experiment both 3 | sed 's/accumulate = many/global_batch = { 8, 16, 20 }/' >both.lua
for format in table csv md; do
  code=0
  PATH=$work/no_programs "$orch_program" plan both.lua --format "$format" >"$work/out" 2>&1 || code=$?
  exits 0 "stdout and stderr in one file, $format"
  has "$(sed 's/1 run rejected.*/END/; /END/q' "$work/out")" 'gpt-1.3b' "the table is above what was rejected, $format"
  has "$(tail -n 12 "$work/out")" '1 run rejected, by reason' "what was rejected is below, $format"
done
code=0
sed 's/"dgx-a100", gpus = 8/"local", gpus = 1/; s/global_batch/micro_batch = 8, global_batch/
     s/gpt-1.3b/gpt-tiny/' both.lua >here.lua
ORCH_TRAINER=/nowhere/trainer PATH=$work/no_programs "$orch_program" run here.lua -y >"$work/out" 2>&1 || code=$?
exits 3 'a trainer that is not there, in one file'
has "$(sed '/error:/q' "$work/out")" '1 run rejected, by reason' 'the error is below the table'
