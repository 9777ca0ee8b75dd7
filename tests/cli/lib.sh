# shellcheck shell=bash
# Sourced by the tests of this folder: SCRIPT ORCH [BROKEN_PLUGINS]. Each check says what should be
# so; the test fails at its end if one was not. It runs in an empty folder of its own.
set -euo pipefail

orch_program=$(realpath -- "$1")
here=$(realpath -- "$(dirname -- "$0")")
ORCH_HOME=$(realpath -- "$here/../..")
export ORCH_HOME # the build folder may be anywhere
unset COLUMNS NO_COLOR ORCH_PLUGINS ORCH_BUILD_TRAINERS
export ORCH_MEASURE= # measures nothing by itself

# Thousands of small files: in memory if a gigabyte is free.
if [ "$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 1000000 ] 2>/dev/null; then
  export TMPDIR=/dev/shm
fi
work=$(mktemp -d)
mkdir "$work/here" "$work/no_programs"
export HOME=$work/home XDG_DATA_HOME=$work/home/data # nobody's own clusters
cd "$work/here"
failures=0

# Runs on this machine that are still running: the next test's would wait for them.
left_behind() { pgrep -af -- "_local $work/"; }

finish() {
  local code=$? left
  cd /
  for _ in {1..50}; do # one whose end was just told is about to leave
    if ! left=$(left_behind); then break; fi
    sleep 0.1
  done
  if [ -n "$left" ]; then bad 'no run is left behind' "$left"; fi
  rm -rf -- "$work"
  if [ "$code" != 0 ]; then exit "$code"; fi
  if [ "$failures" != 0 ]; then
    echo "$failures checks failed"
    exit 1
  fi
}
trap finish EXIT

# orch ARGUMENTS: sets $code, $out and $err. There is no SLURM on its PATH.
orch() {
  code=0
  PATH=$work/no_programs "$orch_program" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
  out=$(cat "$work/out")
  err=$(cat "$work/err")
}

bad() {
  failures=$((failures + 1))
  echo "FAILED: $1"
  shift
  printf '  %s\n' "$@"
}

exits() { # EXPECTED WHAT
  if [ "$code" != "$1" ]; then bad "$2: exit $1" "exit $code" "${err:-$out}"; fi
}

has() { # TEXT PART WHAT
  if [[ "$1" != *"$2"* ]]; then bad "$3: '$2'" "$1"; fi
}

lacks() { # TEXT PART WHAT
  if [[ "$1" == *"$2"* ]]; then bad "$3: no '$2'" "$1"; fi
}

same() { # EXPECTED ACTUAL WHAT
  if [ "$1" != "$2" ]; then bad "$3" "expected: $1" "actual: $2"; fi
}

# A small experiment of COUNT runs, at most 1,000,000: experiment NAME COUNT > FILE.
experiment() {
  cat <<LUA
local many = {}
for i = 1, $2 do
  many[i] = i
end
return experiment {
  name = "$1",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  batch = { accumulate = many },
  strategies = { ddp {} },
}
LUA
}

# The state of a folder, to the byte and the nanosecond.
state_of() { find "$1" -printf '%P %T@ %m\n' -type f -exec sha256sum {} + | sort; }

# The number of complete run folders; an incomplete one is a failure. For some, orch itself checks
# that the name contains the hash of the content.
whole() { # FOLDER [REFERENCE]
  local folder
  python3 "$here/whole.py" "$@" || bad "the folders of $1 are whole"
  while IFS= read -r -d '' folder; do
    "$orch_program" explain "$folder" >/dev/null || bad "the name of $folder is its hash"
  done < <(find "$1" -mindepth 1 -maxdepth 1 ! -name '.*' -print0 | shuf -z -n 3)
}
