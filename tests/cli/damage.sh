#!/bin/bash
# Damaged files: each is reported with a next step, the other runs are shown, nothing is submitted.
. "$(dirname -- "$0")/lib.sh"
. "$here/runs.sh"

planned hurt 3
attempt "runs/hurt/${ids[0]}" 1 finished
attempt "runs/hurt/${ids[1]}" 1 failed 'exit code 5'
submission=runs/hurt/submissions/0001-0123456789abcdef
cp -r runs whole

# damage FILE KIND: in a fresh copy of the runs; without an index, so that the folders are read.
damage() {
  rm -rf runs
  cp -r whole runs
  mkdir -p "$(dirname "$1")"
  case $2 in
  binary) head -c 3000 /dev/urandom >"$1" ;;
  empty) : >"$1" ;;
  half) printf '{"version": 1, "state": "fini' >"$1" ;;
  folder) rm -rf "$1" && mkdir -p "$1/x" ;;
  list) echo '[1, 2]' >"$1" ;;
  wrong) echo '{"version": 1, "state": 7, "name": [], "runs": {}}' >"$1" ;;
  other) echo '{"version": 99}' >"$1" ;;
  pipe) rm -f "$1" && mkfifo "$1" ;;
  large) truncate -s 3G "$1" ;;
  esac
}

sees() { # WHAT FILE SHOWN...: status names the file, shows these runs, and says what to do
  local what=$1 file=$2 id
  shift 2
  code=0
  timeout 300 env PATH="$work/no_programs" "$orch_program" status hurt >"$work/out" 2>"$work/err" </dev/null || code=$?
  out=$(cat "$work/out") err=$(cat "$work/err")
  if [ "$code" != 1 ] && [ "$code" != 4 ]; then bad "$what: exit 1 or 4" "exit $code" "$err"; fi
  has "$err" "$file" "$what"
  same 1 "$(grep -c 'error:' <<<"$err")" "$what: told once"
  if [ "$(grep -c . <<<"$err")" -lt 2 ]; then bad "$what: a next step" "$err"; fi
  lacks "$err" 'a bug' "$what"
  lacks "$out$err" $'\e' "$what"
  for id in "$@"; do has "$out" "${id##*-}" "$what: the others"; done
}

for kind in binary empty half folder list wrong other pipe large; do
  damage "runs/hurt/${ids[2]}/state.json" "$kind"
  sees "state.json, $kind" "${ids[2]}/state.json" "${ids[@]}"
  damage "runs/hurt/${ids[0]}/attempts/1/status.json" "$kind"
  sees "status.json, $kind" "${ids[0]}/attempts/1/status.json" "${ids[@]}"
  has "$out" 'status.json ' "status.json, $kind: the reason"
  orch retry hurt "${ids[0]}"
  if [ "$code" = 0 ]; then bad "status.json, $kind: retry" "$out$err"; fi
  damage "runs/hurt/experiment.json" "$kind"
  sees "experiment.json, $kind" hurt/experiment.json "${ids[@]}"
  damage "$submission/submission.json" "$kind"
  sees "submission.json, $kind" submission.json "${ids[@]}"
  for verb in resume retry cancel; do
    orch "$verb" hurt -y
    exits 1 "submission.json, $kind: $verb"
    has "$err" submission.json "submission.json, $kind: $verb"
  done
  orch run hurt.lua
  exits 1 "submission.json, $kind: run"
done
for kind in binary half folder pipe; do
  damage runs/hurt/wanted "$kind"
  sees "wanted, $kind" hurt/wanted "${ids[@]}"
  orch resume hurt -y
  exits 1 "wanted, $kind: resume"
done
for kind in binary empty half list wrong other; do
  damage "runs/hurt/${ids[1]}/run.json" "$kind"
  sees "run.json, $kind" "${ids[1]}/run.json" "${ids[0]}" "${ids[2]}"
  damage "runs/hurt/${ids[1]}/estimate.json" "$kind"
  sees "estimate.json, $kind" "${ids[1]}/estimate.json" "${ids[0]}" "${ids[2]}"
done
orch inspect "${ids[1]}"
exits 1 'inspect of a damaged run'
has "$err" estimate.json 'inspect of a damaged run'

# The other verbs read the same files.
damage "runs/hurt/${ids[0]}/attempts/1/status.json" binary
for arguments in "watch hurt" "logs ${ids[0]}" "inspect ${ids[0]}" index "cancel hurt"; do
  # shellcheck disable=SC2086
  orch $arguments
  lacks "$err" 'a bug' "$arguments of a damaged run"
done
damage "runs/hurt/${ids[0]}/attempts/1/events.jsonl" binary
orch status hurt
exits 4 'events that are rubbish'
same '' "$err" 'events that are rubbish'
mkdir -p "runs/hurt/${ids[2]}/attempts/99999999999999" "runs/hurt/${ids[2]}/attempts/-1" "runs/hurt/${ids[2]}/attempts/1x"
orch status hurt
exits 4 'attempts that are none'

# JSON output remains valid JSON.
damage "runs/hurt/${ids[2]}/state.json" binary
orch status --format json
same 3 "$(json 'len(doc["runs"])')" 'JSON of a damaged run'
same "['failed', 'failed', 'finished']" "$(json 'sorted(run["state"] for run in doc["runs"])')" 'JSON of a damaged run'
damage runs/hurt/experiment.json folder
orch status --format json
same 3 "$(json 'len(doc["runs"])')" 'JSON of a damaged experiment'
