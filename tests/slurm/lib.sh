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

finish() {
  local code=$?
  trap '' INT TERM
  end_children
  "$here/cluster" stop "$work/cluster" || true
  if [ "$failures" -gt 0 ]; then show_logs; fi
  if [ -z "${KEEP_WORK:-}" ]; then rm -rf -- "$work"; else echo "kept: $work"; fi
  exit "$code"
}
# A node's log can be the only one that knows why, or the last word of an attempt.
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

expect() { # WHAT GOT WANTED
  checks=$((checks + 1))
  if [ "$2" != "$3" ]; then failed "$@"; fi
}

expect_match() { # WHAT GOT PATTERN
  checks=$((checks + 1))
  # shellcheck disable=SC2053 # a pattern it is
  if [[ $2 != $3 ]]; then failed "$@"; fi
}

# The end of a long text tells most.
failed() { # WHAT GOT WANTED
  local got=$2 most=2000
  if [ "${#got}" -gt "$most" ]; then got="... ${got: -most}"; fi
  failures=$((failures + 1))
  printf 'FAILED: %s: %s\n  got:    %s\n  wanted: %s\n' "$current" "$1" "$got" "$3"
}

poll() { # SECONDS COMMAND...
  local until=$((SECONDS + $1))
  shift
  while ! "$@"; do
    if ((SECONDS > until)); then return 1; fi
    sleep 0.1
  done
}

# What scontrol says of a job, by its name for it.
fact() { scontrol show job --oneliner "$1" | tr ' ' '\n' | sed -n "s|^$2=||p" | head -n 1; }

# run_cases NAME...: case_NAME each, with a line on how it went; then the sum of all.
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
