# shellcheck shell=bash disable=SC2034,SC2154 # of lib.sh, and for those who source this
# Sourced after lib.sh: programs in $fake that answer as a SLURM 22.05 does, with the partitions of
# the file $fake/partitions, its nodes in $fake/nodes. Jobs that are submitted wait for ever.
fake=$work/slurm
mkdir "$fake"

cat >"$fake/partitions" <<'TEXT'
PartitionName=defq AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED Nodes=dgx-[1-4] PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO OverTimeLimit=NONE PreemptMode=OFF State=UP TotalCPUs=512 TotalNodes=4 SelectTypeParameters=NONE JobDefaults=(null) DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED TRES=cpu=512,mem=4T,node=4,billing=512,gres/gpu=32
TEXT
echo 'defq|4|gpu:a100:8(S:0-1)|(null)|idle' >"$fake/nodes"

program() { # NAME: its text is on stdin; $0's folder is $fake
  { printf '#!/bin/bash\nfake=%q\n' "$fake" && cat; } >"$fake/$1"
  chmod +x "$fake/$1"
}
program scontrol <<'BASH'
case "$*" in
ping) echo 'Slurmctld(primary) at front is UP' ;;
'show config')
  echo 'Configuration data as of 2026-11-15T09:00:00'
  echo 'ClusterName             = toy'
  echo 'MaxArraySize            = 1001'
  echo 'MaxJobCount             = 10000'
  echo 'SLURM_VERSION           = 22.05.8'
  ;;
*partition*) /bin/cat "$fake/partitions" ;;
*) echo "invalid entity:$2 for keyword:show" >&2 && exit 1 ;;
esac
BASH
program sinfo <<'BASH'
/bin/cat "$fake/nodes"
BASH
program sbatch <<'BASH'
case "$*" in
--version) echo 'slurm-wlm 22.05.8' ;;
*--test-only*) echo 'sbatch: Job 999 to start at 2026-11-15T09:00:00 using 8 processors on nodes dgx-1 in partition defq' >&2 ;;
*)
  echo "$*" >>"$fake/submitted"
  job=$((999 + $(/usr/bin/wc -l <"$fake/submitted")))
  words="$* " last=0 task=N/A
  comment=${words#*--comment=} comment=${comment%% *}
  if [[ $words = *--array=* ]]; then last=${words#*--array=0-} last=${last%%[% ]*} task=0; fi
  for ((i = 0; i <= last; i++)); do
    echo "$job|$task|PENDING|0|0|N/A|N/A|0:00||1|Resources|cpu=8,mem=1T,node=1|gres:gpu:8|$comment"
    task=$((i + 1))
  done >>"$fake/queue"
  echo "$job"
  ;;
esac
BASH
# The fields that orch asks for, in its order.
program squeue <<'BASH'
if [ -e "$fake/queue" ]; then /bin/cat "$fake/queue"; fi
BASH
program sacct <<'BASH'
echo 'Slurm accounting storage is disabled' >&2
exit 1
BASH
program scancel <<'BASH'
echo "$*" >>"$fake/cancelled"
BASH

# Runs orch with this SLURM.
with_slurm() {
  code=0
  PATH=$fake "$orch_program" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
  out=$(cat "$work/out")
  err=$(cat "$work/err")
}

# The calls of sbatch without --test-only, a line for each.
submitted() { if [ -e "$fake/submitted" ]; then cat "$fake/submitted"; fi; }
