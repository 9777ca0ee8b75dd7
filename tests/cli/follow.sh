#!/bin/bash
# The verbs that follow runs, if there is nothing to do, no terminal to ask on, or no run. $3: a
# library that makes file systems unable to lock.
. "$(dirname -- "$0")/lib.sh"
. "$here/runs.sh"
no_locks=$3

planned idle 3
before=$(state_of runs/idle)
for verb in watch cancel resume retry; do
  orch "$verb" idel
  exits 1 "$verb: a typo"
  has "$err" "did you mean 'idle'?" "$verb: a typo"
  orch "$verb" gpt
  exits 1 "$verb: a beginning that three have"
  has "$err" '3 runs begin like this' "$verb: a beginning that three have"
  orch "$verb" any --runs nowhere
  exits 1 "$verb: no runs"
  has "$err" 'no runs' "$verb: no runs"
done
orch watch idle
exits 0 'watch when nothing runs'
has "$out" 'idle: 3 planned' 'watch when nothing runs'
lacks "$out" $'\e' 'watch without a terminal'
orch watch
exits 0 'watch of all'
for arguments in "cancel idle" "cancel idle -y" "cancel idle --stop -y"; do
  # shellcheck disable=SC2086
  orch $arguments
  exits 0 "$arguments"
  has "$err" 'idle: nothing to cancel' "$arguments"
done
for arguments in "resume idle" "resume -y --detach" "retry idle" "retry ${ids[0]} -y"; do
  # shellcheck disable=SC2086
  orch $arguments
  exits 0 "$arguments"
  has "$err" 'idle: nothing to submit; ' "$arguments"
  has "$err" 'only rendered: orch run idle.lua -y submits ' "$arguments"
done
rm -f runs/idle/lock
same "$(grep -v '^ \| lock' <<<"$before")" "$(state_of runs/idle | grep -v '^ \| lock')" 'nothing was done'

# A failed run, without a SLURM for a new submission and without a terminal to ask on.
attempt "runs/idle/${ids[0]}" 1 failed 'a task left with exit code 3'
orch resume idle
exits 4 'resume leaves what failed for good'
orch retry "${ids[0]}"
exits 2 'retry without a terminal'
has "$err" 'submit 1 run of idle, up to ' 'retry without a terminal'
has "$err" 'no terminal to ask on; -y submits without asking' 'retry without a terminal'
orch retry "${ids[0]}" -y --patience 0
if [ "$code" = 0 ]; then bad 'retry without a SLURM'; fi
lacks "$err" 'a bug' 'retry without a SLURM'
has "$err" 'SLURM not found' 'retry without a SLURM'

# Inspect.
orch inspect idle
exits 2 'inspect of an experiment'
has "$err" 'takes exactly one run' 'inspect of an experiment'
orch inspect "${ids[1]}"
exits 1 'inspect of what has not started'
has "$err" 'has not started' 'inspect of what has not started'
orch inspect nothing
exits 1 'inspect of nothing'

# Doctor: what exists on this machine, what is missing, and how to get it.
orch doctor
exits 0 doctor
has "$out" 'missing' doctor
has "$out" 'SLURM' doctor
orch doctor --format json
exits 0 'doctor as JSON'
same 1 "$(json 'doc["schema"]')" 'doctor as JSON'
same True "$(json 'all(set(c) == {"what", "state", "found", "how_to_get"} and c["state"] in ("ok", "missing", "note") for c in doc["checks"])')" 'doctor as JSON'
same True "$(json 'all(c["how_to_get"] for c in doc["checks"] if c["state"] == "missing")')" 'how to get what is missing'
ORCH_HOME=/nowhere orch doctor
exits 0 'doctor with a wrong ORCH_HOME'
has "$out" 'set ORCH_HOME' 'doctor with a wrong ORCH_HOME'

# The index: rebuilt, it contains what the folders do.
planned indexed 4
attempt "runs/indexed/${ids[0]}" 1 finished
events "runs/indexed/${ids[0]}" 1 10
attempt "runs/indexed/${ids[1]}" 1 failed 'exit code 9'
table() { orch status indexed --top 0; same 4 "$code" "status $1"; printf '%s\n' "$out"; }
first=$(table 'before the index')
same "$first" "$(table 'from the index')" 'from the index'
orch index
exits 0 index
has "$out" ' runs in runs/index.jsonl' index
same "$first" "$(table 'after orch index')" 'after orch index'
rm runs/index.jsonl*
same "$first" "$(table 'without the index')" 'without the index'
echo rubbish >runs/index.jsonl
same "$first" "$(table 'a damaged index')" 'a damaged index'
rm -r runs/index.jsonl*
mkdir runs/index.jsonl
same "$first" "$(table 'a folder in place of the index')" 'a folder in place of the index'
orch status indexed
has "$err" 'reading the run folders instead' 'a folder in place of the index'
orch index
exits 1 'orch index with a folder in its place'
rmdir runs/index.jsonl

# A file system that cannot lock.
unlocked() {
  code=0
  LD_PRELOAD=$no_locks ORCH_ERRNO=95 PATH=$work/no_programs "$orch_program" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
  out=$(cat "$work/out") err=$(cat "$work/err")
}
if [ -n "${no_locks:-}" ] && ! grep -qs asan <(ldd "$orch_program"); then
  unlocked status indexed --top 0
  exits 4 'without locks'
  same "$first" "$out" 'without locks'
  unlocked index
  exits 0 'orch index without locks'
else
  echo 'SKIPPED: no library that takes the locks away'
fi

# Another user's folder, and a read-only one: reading works, changing does not.
as_other() { # ORCH's arguments, as a user that owns nothing here
  code=0
  PATH=$work/no_programs /usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups -- \
    "$orch_program" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
  out=$(cat "$work/out") err=$(cat "$work/err")
}
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  chmod 755 "$work" "$work/here"
  orch index
  orch status indexed --top 0
  as_other status indexed --top 0
  exits 4 'the runs of someone else'
  same "$first" "$out" 'the runs of someone else'
  for verb in cancel resume retry; do
    as_other "$verb" indexed -y
    exits 1 "$verb of the runs of someone else"
    has "$err" 'belongs to another user (uid 0, you are 65534)' "$verb of the runs of someone else"
    has "$err" '--runs' "$verb of the runs of someone else"
  done
  as_other watch indexed
  has "$out" 'indexed: 1 finished' 'watch of the runs of someone else'
  as_other logs "${ids[0]}"
  exits 0 'logs of someone else'
  as_other index
  exits 1 'orch index in a folder of someone else'
  chmod 700 runs/indexed
  as_other status indexed
  if [ "$code" = 0 ]; then bad 'a folder that nobody else may read' "$out"; fi
  lacks "$err" 'a bug' 'a folder that nobody else may read'
else
  echo 'SKIPPED: only root can look at runs as someone else'
fi
