#!/bin/bash
# Run folders: what is written, that nothing changes, and that whatever happens they are whole.
. "$(dirname -- "$0")/lib.sh"

# Each folder holds all its files, and its name ends in the hash of its run.json.
cat >whole.py <<'PY'
import json, os, sys

def stable_hash(data):  # 64-bit FNV-1a with a final mix
    h = 0xcbf29ce484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001b3) & 0xffffffffffffffff
    h ^= h >> 33
    h = (h * 0xff51afd7ed558ccd) & 0xffffffffffffffff
    return h ^ (h >> 33)

folders = 0
for name in os.listdir(sys.argv[1]):
    if name.startswith("."):
        continue
    folder = os.path.join(sys.argv[1], name)
    text = {f: open(os.path.join(folder, f), "rb").read() for f in ("run.json", "estimate.json", "job.sbatch")}
    assert sorted(os.listdir(folder)) == sorted(text), os.listdir(folder)
    json.loads(text["run.json"]), json.loads(text["estimate.json"])
    assert text["job.sbatch"].startswith(b"#!/bin/bash\n") and text["job.sbatch"].endswith(b"\n")
    assert name.endswith("-%08x" % (stable_hash(text["run.json"]) >> 32)), name
    folders += 1
print(folders)
PY
whole() { # FOLDER: prints how many there are
  python3 whole.py "$1" || bad "the folders of $1 are whole"
}

experiment small 5 >small.lua
orch run small.lua --dry-run
exits 0 --dry-run
same 'small.lua whole.py' "$(echo ./* | sed 's|\./||g')" '--dry-run writes nothing'
orch plan small.lua
same 'small.lua whole.py' "$(echo ./* | sed 's|\./||g')" 'plan writes nothing'

orch run small.lua
exits 0 run
has "$out" '5 run folders written to runs/small/' run
has "$out" 'there is no SLURM here' run
has "$out" 'next, on the cluster: cd runs/small/' run
same 5 "$(whole runs/small)" run
before=$(state_of runs)
orch run small.lua
exits 0 'the second time'
has "$out" 'nothing changed: all 5 run folders are in runs/small/' 'the second time'
same "$before" "$(state_of runs)" 'the second time nothing changes'

# More runs, and fewer: what is there stays.
experiment small 7 >more.lua
orch run more.lua
has "$out" '2 run folders written to runs/small/, 5 were there' 'two more runs'
orch run small.lua
has "$out" 'nothing changed' 'two fewer runs'
same 7 "$(whole runs/small)" 'two fewer runs'

# The same run asked for twice is one folder.
sed 's/ddp {}/ddp {}, ddp {}/; s/name = "small"/name = "twice"/' small.lua >twice.lua
orch run twice.lua
exits 0 'the same run twice'
same 5 "$(whole runs/twice)" 'the same run twice'

# A script that is out of date is refreshed, unless the run was started.
first=$(find runs/small -mindepth 1 -maxdepth 1 | sort | head -n 1)
echo '# changed' >>"$first/job.sbatch"
orch run more.lua
has "$out" '1 refreshed' 'a script that is out of date'
same 7 "$(whole runs/small)" 'a script that is out of date'
mkdir "$first/attempts"
echo '# changed' >>"$first/job.sbatch"
before=$(state_of runs)
orch run more.lua
has "$out" 'nothing changed' 'a run that was started'
same "$before" "$(state_of runs)" 'a run that was started'
rm -r "$first/attempts"
orch run more.lua

# A run.json that was edited is not overwritten, and not believed.
sed -i 's/"micro_batch": 1/"micro_batch": 0/' "$first/run.json"
orch run more.lua
exits 1 'an edited run.json'
has "$err" 'move that folder away' 'an edited run.json'
orch explain "$first"
exits 1 'explain an edited run.json'
has "$err" 'is not the file that this folder was made with' 'explain an edited run.json'
echo '{' >"$first/run.json"
orch explain "$first"
exits 1 'explain a broken run.json'
rm -r "$first"
orch run more.lua
same 7 "$(whole runs/small)" 'a folder that was removed'

# Folders with any name.
# shellcheck disable=SC2016
for folder in 'we ird$(touch owned)' "it's" $'two\nlines' -dash; do
  orch run small.lua "--runs=$folder"
  exits 0 "--runs '$folder'"
  same 5 "$(whole "./$folder/small")" "--runs '$folder'"
  next=$(sed -n 's/^next, on the cluster: cd \(.*\) && sbatch job.sbatch$/\1/p' "$work/out")
  if [[ $folder != *$'\n'* ]]; then # the command is on one line then
    if ! bash -c "cd $next && [ -e job.sbatch ] && bash -n job.sbatch"; then
      bad "the command for --runs '$folder' works" "$next"
    fi
  fi
  script=$(find "./$folder" -name job.sbatch -print -quit)
  if ! shellcheck "$script"; then bad "shellcheck of a job in '$folder'"; fi
  if [ -e owned ]; then bad "'$folder' was executed"; fi
done

# Ctrl-C half-way: exit 130, whole folders; the next run does the rest.
experiment many 4000 >many.lua
interrupted=0
for delay in 0.02 0.05 0.1 0.15 0.2 0.3; do
  rm -rf interrupt
  code=0
  # `timeout` sends SIGINT to orch alone.
  timeout --signal=INT --foreground "$delay" "$orch_program" run many.lua --runs interrupt \
    >"$work/out" 2>"$work/err" </dev/null || code=$?
  err=$(cat "$work/err")
  if [ "$code" = 124 ]; then # timeout speaks of itself; orch's own code is not to be had this way
    interrupted=$((interrupted + 1))
    has "$err" 'interrupted' "Ctrl-C after $delay s"
  fi
  if [ -d interrupt ]; then
    if find interrupt -name '.tmp-*' | grep -q .; then bad "Ctrl-C after $delay s leaves no drafts"; fi
    whole interrupt/many >/dev/null
  fi
done
if [ "$interrupted" = 0 ]; then echo 'SKIPPED: this machine is too fast to interrupt'; fi
"$orch_program" run many.lua --runs interrupt2 >/dev/null 2>"$work/err" </dev/null &
pid=$!
sleep 0.05
kill -INT "$pid" 2>/dev/null || true
code=0
wait "$pid" || code=$?
# A shell's background jobs ignore SIGINT, so ask with SIGTERM too.
if [ "$code" = 0 ]; then
  rm -rf interrupt2
  "$orch_program" run many.lua --runs interrupt2 >/dev/null 2>"$work/err" </dev/null &
  pid=$!
  sleep 0.05
  kill -TERM "$pid" 2>/dev/null || true
  code=0
  wait "$pid" || code=$?
fi
err=$(cat "$work/err")
exits 130 'an interrupt'
orch run many.lua --runs interrupt
exits 0 'after an interrupt'
same 4000 "$(whole interrupt/many)" 'after an interrupt'
