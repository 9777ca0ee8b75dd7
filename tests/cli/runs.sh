# shellcheck shell=bash disable=SC2034,SC2154 # of lib.sh, and for those who source this
# Sourced after lib.sh: runs that were never submitted, with attempts made by hand.

# planned NAME COUNT: plans that many runs below runs/NAME, their ids in $ids.
planned() {
  experiment "$1" "$2" >"$1.lua"
  orch run "$1.lua"
  exits 0 "orch run $1.lua"
  mapfile -t ids < <(find "runs/$1" -mindepth 2 -name run.json -printf '%h\n' | sed 's|.*/||' | sort)
  same "$2" "${#ids[@]}" "the runs of $1"
}

# attempt FOLDER NUMBER STATE [MESSAGE [START END]]: writes an attempt like the job script.
attempt() {
  mkdir -p -- "$1/attempts/$2/flight"
  local start=${5-2026-11-15T07:00:00Z} end=${6-2026-11-15T08:00:00Z}
  if [ "$3" = running ]; then end=null; else end=\"$end\"; fi
  cat >"$1/attempts/$2/status.json" <<JSON
{"version": 1, "state": "$3", "message": "${4-}", "job_id": "77", "restart_count": 0, "phase": 1,
 "phases": 1, "start": "$start", "end": $end, "signal": null, "exit_code": null, "nodes": ["n1"],
 "bad_nodes": []}
JSON
}

# events FOLDER NUMBER STEPS: writes a trainer's events, half a second and 8192 tokens a step.
events() {
  local step
  for ((step = 1; step <= $3; step++)); do
    printf '{"event":"step","time":%d.%d,"step":%d,"loss":%d.25,"step_seconds":0.5,"tokens":%d}\n' \
      $((1763193600 + step / 2)) $((step % 2 * 5)) "$step" $((10 - step % 8)) $((step * 8192))
  done >"$1/attempts/$2/events.jsonl"
}

# Evaluates a Python expression on the JSON in $out, as "doc".
json() { python3 -c 'import json, sys; doc = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$work/out" "$1"; }
