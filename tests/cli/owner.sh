#!/bin/bash
# Run folders of other users, scripts that were changed and a lock that is a link are refused.
. "$(dirname -- "$0")/lib.sh"
. "$here/runs.sh"
. "$here/fake_slurm.sh"
. "$here/local.sh"
export ORCH_TRAINER=/bin/true

experiment own 2 >own.lua
with_slurm run own.lua -y --detach
exits 0 'two runs'
mapfile -t ids < <(find runs/own -mindepth 2 -name run.json -printf '%h\n' | sed 's|.*/||' | sort)
for id in "${ids[@]}"; do
  sum=$(sha256sum <"runs/own/$id/job.sbatch")
  has "$(cat runs/own/submissions/*/submission.json)" "\"${sum%% *}\"" 'the sum of a script is kept'
done

# again ARGUMENTS: SLURM has lost all jobs, and orch resume submits them again.
again() {
  rm -f "$fake/queue"
  with_slurm resume own -y --detach --settle 0 "$@"
}
cp "runs/own/${ids[0]}/job.sbatch" kept
echo 'touch somewhere' >>"runs/own/${ids[0]}/job.sbatch"
again
exits 1 'a script that was changed'
has "$err" "${ids[0]}/job.sbatch: changed since it was submitted" 'a script that was changed'
has "$err" '--trust submits it as it is' 'a script that was changed: the next step'
has "$err" '1 run submitted as 1 job' 'a script that was changed: the other run goes on'
has "$(submitted | tail -n 1)" "--job-name=${ids[1]} " 'a script that was changed is not submitted'
again --trust
exits 0 '--trust'
has "$err" '2 runs submitted as 1 job' '--trust submits it'
again
exits 0 'what was trusted once'
has "$err" '2 runs submitted as 1 job' 'what was trusted once is the script from then on'
mv kept "runs/own/${ids[0]}/job.sbatch"
again
exits 1 'changed back'

# A lock that is a link to another file.
echo precious >victim
ln -sf "$PWD/victim" runs/own/lock
again
exits 1 'a lock that is a link'
has "$err" 'runs/own/lock: is a link' 'a lock that is a link'
same precious "$(cat victim)" 'where the lock leads is left alone'
rm runs/own/lock

# Root represents any user here: files of other users are refused even for root.
if [ "$(id -u)" = 0 ]; then
  planned theirs 2
  attempt "runs/theirs/${ids[1]}" 1 finished
  chown -R 1234 "runs/theirs/${ids[1]}"
  orch status theirs
  exits 1 "another user's run"
  has "$err" "runs/theirs/${ids[1]}: belongs to another user (uid 1234, you are 0)" "another user's run"
  has "$err" '--trust takes it as it is' "another user's run: the next step"
  lacks "$out" 'finished' "another user's run is not believed"
  orch status theirs --trust
  exits 0 "another user's run with --trust"
  has "$out" '1 finished' "another user's run with --trust"
  chown 1234 runs/theirs
  orch resume theirs -y --detach
  exits 1 "another user's experiment"
  has "$err" 'runs/theirs: belongs to another user' "another user's experiment"
  chown -R 1234 runs/theirs
  orch status theirs
  exits 0 'what others ran can be looked at'
  has "$out" '1 finished' 'what others ran can be looked at'
fi

# On this machine: the first run changes what the second would start.
# shellcheck disable=SC2016 # the stand-in evaluates it
at_home here 'for other in ${folder%/*}/gpt-*; do if [ $other != $folder ]; then echo >>$other/run.json; fi; done; steps 2 0.01'
local_orch run here.lua -y
exits 4 'a run.json that was changed'
has "$out" 'run.json changed since it was submitted' 'a run.json that was changed'
has "$out" '1 finished' 'the first run'
