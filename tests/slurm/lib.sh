# shellcheck shell=bash
# Sourced by the tests of this folder that need a cluster: SCRIPT ORCH PLUGINS. Starts a private one
# (see cluster) in $work/cluster, ends it with the script, and leaves with 77 when there is no SLURM.
# $here is this folder, $program the program that is tested.
set -euo pipefail

here=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
program=$(realpath -- "$1")
ORCH_PLUGINS=$(realpath -- "$2")
ORCH_HOME=$(realpath -- "$here/../..")
export ORCH_PLUGINS ORCH_HOME
for name in "${!SLURM_@}" "${!SBATCH_@}" "${!SRUN_@}"; do unset "$name"; done

work=$(mktemp -d /tmp/orch-slurm.XXXXXX)
failures=0 checks=0 current=
end_children() { :; } # a script that leaves processes behind says how they end

# True if it still exists, and is not another process with a reused pid: they repeat every minute.
is_child() {
  local words
  { read -ra words <"/proc/$1/stat"; } 2>/dev/null || return 1
  [ "${words[3]}" = $$ ]
}

finish() {
  local code=$?
  trap '' INT TERM
  # A command failed unexpectedly, or the time is over.
  if [ "$code" != 0 ] && [ "$failures" = 0 ] && [ -n "$current" ]; then
    failures=1
    echo "FAILED: $current: ended with code $code after $SECONDS s, at: $BASH_COMMAND"
  fi
  end_children
  "$here/cluster" stop "$work/cluster" || true
  if [ "$failures" -gt 0 ]; then show_logs; fi
  if [ -z "${KEEP_WORK:-}" ]; then rm -rf -- "$work"; else echo "kept: $work"; fi
  exit "$code"
}
# A node's log may be the only one with the reason, or with the last output of an attempt.
show_logs() {
  local file
  for file in "$work"/cluster/*.log; do
    grep -H error "$file" | grep -v pmix | tail -n 5 || true
  done
  find "$work" -name stdout.log -path '*/attempts/*' -exec grep -HE '^(orch: failed|srun: error)' {} + |
    tail -n 20 || true
}
trap finish EXIT
trap 'exit 1' INT TERM

"$here/cluster" start "$work/cluster"
export SLURM_CONF=$work/cluster/slurm.conf
# A job counts its node's GPUs with nvidia-smi, if it exists: it would show this machine's, not the
# cluster's.
if command -v nvidia-smi >/dev/null; then
  mkdir "$work/of_a_node"
  printf '#!/bin/sh\nseq -f "GPU %%g" 0 7\n' >"$work/of_a_node/nvidia-smi"
  chmod +x "$work/of_a_node/nvidia-smi"
  PATH=$work/of_a_node:$PATH
fi

expect() { # WHAT GOT WANTED
  checks=$((checks + 1))
  if [ "$2" != "$3" ]; then failed "$@"; fi
}

expect_match() { # WHAT GOT PATTERN
  checks=$((checks + 1))
  # shellcheck disable=SC2053 # a pattern it is
  if [[ $2 != $3 ]]; then failed "$@"; fi
}

# The end of a long text is the most useful part.
failed() { # WHAT GOT WANTED
  local got=$2 most=2000
  if [ "${#got}" -gt "$most" ]; then got="... ${got: -most}"; fi
  failures=$((failures + 1))
  printf 'FAILED: %s: %s\n  got:    %s\n  wanted: %s\n' "$current" "$1" "$got" "$3"
}

# At increasing intervals: a condition mostly starts orch, two programs of SLURM's and Python.
poll() { # SECONDS COMMAND...
  local until=$((SECONDS + $1)) pause=100
  shift
  while ! "$@"; do
    if ((SECONDS > until)); then return 1; fi
    sleep "0.$pause"
    if ((pause < 400)); then pause=$((pause + 50)); fi
  done
}

# asked COMMAND...: its answer. A busy controller or database may fail to answer, so it is asked
# again, unless it reports that it does not know the job.
asked() {
  local said complaint tries=0
  complaint=$(mktemp "$work/complaint.XXXXXX")
  until said=$("$@" 2>"$complaint") || grep -q 'Invalid job id' "$complaint"; do
    if ((++tries == 20)); then cat "$complaint" >&2; rm -f "$complaint"; return 1; fi
    sleep 0.5
  done
  rm -f "$complaint"
  if [ -n "$said" ]; then printf '%s\n' "$said"; fi
}

# A field of a job from scontrol, by its name there.
fact() {
  asked scontrol show job --oneliner "$1" | tr ' ' '\n' |
    awk -v name="$2=" 'index($0, name) == 1 && !found++ { print substr($0, length(name) + 1) }'
}

# Accounting's record of a job, one line for each of its tasks.
booked() { # JOB FORMAT [OPTION...]
  asked sacct --noheader --parsable2 --allocations --jobs="$1" --format="$2" "${@:3}"
}

# warn_late FOLDER: experiments in it may have cluster = "late", where jobs are warned of their
# limit as late as possible. SLURM checks limits every thirty seconds, and sends its signal up to
# that much too early: with a limit of a minute it comes after half of it, when a trainer has
# certainly begun.
warn_late() {
  mkdir "$1/clusters"
  sed 's/^name: .*/name: late/; s/signal_seconds: .*/signal_seconds: 1/' \
    "$ORCH_HOME/experiments/clusters/jean-zay.yaml" >"$1/clusters/late.yaml"
}

# run_cases NAME...: runs each case_NAME, with a line on its result; then the total.
run_cases() {
  local name began before verdict
  for name in "$@"; do
    began=$SECONDS before=$failures current=$name
    "case_$name"
    [ "$failures" = "$before" ] && verdict=ok || verdict=FAILED
    printf '%-6s %s (%d s)\n' "$verdict" "$name" "$((SECONDS - began))"
  done
  printf '%d checks, %d failed\n' "$checks" "$failures"
  [ "$failures" = 0 ]
}

# True if the controller has saved its state since a file was made. It saves changes, and a training
# job may not change for long: the administrator's comment is changed instead.
is_saved() {
  scontrol update JobId="$(squeue --noheader --format=%A | head -n 1)" AdminComment="$RANDOM" 2>/dev/null || true
  [ "$work/cluster/state/job_state" -nt "$1" ]
}
