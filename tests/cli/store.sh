#!/bin/bash
# Run folders: their content, that nothing changes, and that they are always complete.
. "$(dirname -- "$0")/lib.sh"

experiment small 5 >small.lua
orch run small.lua --dry-run
exits 0 --dry-run
same 'small.lua' "$(echo *)" '--dry-run writes nothing'
orch plan small.lua
same 'small.lua' "$(echo *)" 'plan writes nothing'

orch run small.lua
exits 0 run
has "$out" '5 run folders written to runs/small/' run
has "$out" 'SLURM not found' run
has "$out" 'next, on the cluster: cd runs/small/' run
same 5 "$(whole runs/small)" run
before=$(state_of runs)
orch run small.lua
exits 0 'the second time'
has "$out" 'nothing changed: all 5 run folders are in runs/small/' 'the second time'
same "$before" "$(state_of runs)" 'the second time nothing changes'

# More runs, and fewer: existing folders stay.
experiment small 7 >more.lua
orch run more.lua
has "$out" '2 run folders written to runs/small/, 5 were there' 'two more runs'
orch run small.lua
has "$out" 'nothing changed' 'two fewer runs'
same 7 "$(whole runs/small)" 'two fewer runs'

# A run that occurs twice has one folder.
sed 's/ddp {}/ddp {}, ddp {}/; s/name = "small"/name = "twice"/' small.lua >twice.lua
orch run twice.lua
exits 0 'the same run twice'
same 5 "$(whole runs/twice)" 'the same run twice'

# An outdated script is replaced, unless the run was started.
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

# An edited run.json is neither overwritten nor trusted.
sed -i 's/"micro_batch": 1/"micro_batch": 0/' "$first/run.json"
orch run more.lua
exits 1 'an edited run.json'
has "$err" 'move the folder away' 'an edited run.json'
orch explain "$first"
exits 1 'explain an edited run.json'
has "$err" 'was changed after the run was planned' 'explain an edited run.json'
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

# Ctrl-C half-way: exit 130, whole folders; the next run does the rest. A shell's background jobs
# ignore SIGINT, so python3 plays the terminal.
experiment many 2000 >many.lua
cat >interrupt.py <<'PY'
import os, signal, subprocess, sys, time
no_slurm = {**os.environ, "PATH": "/nowhere"}
orch = subprocess.Popen(sys.argv[2:], env=no_slurm, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
time.sleep(float(sys.argv[1]))
orch.send_signal(signal.SIGINT)
sys.exit(orch.wait())
PY
stopped=0 tries=0
# Stops after the seventh; more delays for a machine so busy that Ctrl-C came too early each time.
for delay in 0.03 0.05 0.07 0.1 0.15 0.2 0.3 0.6 1.2 2.4 5 10 20; do
  if ((tries++ >= 7 && stopped > 0)); then break; fi
  rm -rf interrupt
  code=0
  python3 interrupt.py "$delay" "$orch_program" run many.lua --runs interrupt 2>"$work/err" || code=$?
  err=$(cat "$work/err")
  if [ "$code" = 130 ]; then
    stopped=$((stopped + 1))
    has "$err" 'interrupted' "Ctrl-C after $delay s"
  elif [ "$code" = 254 ]; then # before the program could catch it (-2: ended by SIGINT)
    same '' "$(find interrupt 2>/dev/null)" "Ctrl-C after $delay s: nothing is written yet"
  elif [ "$code" != 0 ]; then # too late to stop anything
    bad "Ctrl-C after $delay s: exit 130" "exit $code" "$err"
  fi
  if [ -d interrupt ]; then
    same '' "$(find interrupt -name '.tmp*')" "Ctrl-C after $delay s leaves no drafts"
    whole interrupt/many >/dev/null
  fi
done
echo "interrupted $stopped runs before their end"
if [ "$stopped" = 0 ]; then bad 'at least one run was interrupted'; fi
orch run many.lua --runs interrupt
exits 0 'after an interrupt'
same 2000 "$(whole interrupt/many)" 'after an interrupt'
