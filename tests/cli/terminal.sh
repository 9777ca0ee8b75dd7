#!/bin/bash
# On a terminal: the question before runs are submitted, the live picture, and leaving it.
. "$(dirname -- "$0")/lib.sh"
. "$here/runs.sh"
. "$here/local.sh"
if ! python3 "$here/terminal.py" 80 24 -- true >/dev/null 2>&1; then
  echo 'SKIPPED: no terminal can be made here'
  exit 77
fi

# on_terminal COLUMNS [AFTER SEND]... -- ARGUMENTS: runs orch on a terminal; $out is all of its
# output.
on_terminal() {
  local columns=$1 words=()
  shift
  while [ "$1" != -- ]; do words+=("$1") && shift; done
  shift
  code=0
  python3 "$here/terminal.py" "$columns" 24 "${words[@]}" -- \
    env TERM=xterm PATH="$work/tools" "$orch_program" "$@" >"$work/out" 2>"$work/err" || code=$?
  out=$(tr -d '\r' <"$work/out") err=$(cat "$work/err")
}
# The widest line of the pictures, without colours and cursor movements. In the table below them no
# id is ever broken.
widest() { python3 -c '
import re, sys
text = open(sys.argv[1], encoding="utf-8", newline="").read()
text = text[: text.rfind("\x1b[J")]
text = re.sub("\x1b\\[[0-9;]*[A-Za-z]", "", text).replace("\r", "")
print(max(len(line) for line in text.split("\n")))' "$work/out"; }
pictures() { grep -c $'\e\[J' "$work/out" || true; }
submissions() { find "runs/$1/submissions" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l; }

# The question: no means no, also for a plain return, and for a closed terminal.
at_home asked 'steps 20 0.1'
for answer in 'n\n' '\n' '\x04' 'no thanks\n'; do
  on_terminal 100 'y/N' "$answer" -- run asked.lua
  exits 2 "the answer $answer"
  has "$out" 'submit 2 runs as 1 job (local/cpu), up to ' "the answer $answer"
  has "$out" '% of the budget? [y/N]' "the answer $answer"
  has "$out" 'nothing was done' "the answer $answer"
  same 0 "$(submissions asked)" "the answer $answer"
done

# Yes: a live picture that is drawn over itself, then the table.
on_terminal 100 'y/N' 'y\n' -- run asked.lua
exits 0 'the answer y'
has "$out" '2 runs submitted as 1 job' 'the answer y'
has "$out" $'\e[K' 'the picture is drawn over itself'
has "$out" '█' 'bars'
if [ "$(pictures)" -lt 2 ]; then bad 'more than one picture' "$out"; fi
has "$out" 'measured' 'the table at the end'
same 1 "$(submissions asked)" 'the answer y'
orch status asked
has "$out" 'asked: 2 finished' 'the answer y'

# Ctrl-C leaves; the runs continue, and watch shows them again.
at_home left "until [ -e '$work/go' ]; do sleep 0.1; done; steps 30 0.1"
on_terminal 100 'running' '\x03' -- run left.lua -y
exits 130 'Ctrl-C'
has "$out" 'stopped watching; the jobs continue. orch watch left follows them again, orch cancel left ends them' 'Ctrl-C'
orch status left
has "$out" ' running ' 'after Ctrl-C'
touch "$work/go"
on_terminal 40 -- watch left
exits 0 'watch comes back'
if [ "$(widest)" -gt 40 ]; then bad 'watch at 40 columns' "$(widest) columns" "$out"; fi
has "$out" '█' 'watch at 40 columns'
orch status left
has "$out" 'left: 2 finished' 'watch comes back'
same 1 "$(submissions left)" 'nothing was submitted twice'

at_home wide 'steps 30 0.1'
on_terminal 200 -- run wide.lua -y
exits 0 'a wide terminal'
if [ "$(widest)" -gt 200 ]; then bad 'run at 200 columns' "$(widest) columns"; fi

# Cancel asks too; no changes nothing.
at_home ended 'sleep 600'
local_orch run ended.lua -y --detach
exits 0 --detach
has "$out" 'next: orch watch ended' --detach
on_terminal 80 'y/N' 'n\n' -- cancel ended
exits 2 'cancel, and no'
orch cancel ended
exits 2 'cancel without a terminal'
has "$err" 'cancel 2 runs of ended?' 'cancel without a terminal'
on_terminal 80 'y/N' 'y\n' -- cancel ended
exits 0 'cancel, and yes'
on_terminal 80 -- watch ended
has "$out" 'orch cancel' 'what was cancelled'
orch status ended
has "$out" '2 cancelled' 'what was cancelled'
on_terminal 80 'y/N' 'n\n' -- retry ended
exits 2 'retry, and no'
orch watch ended
orch status ended
has "$out" '2 cancelled' 'retry, and no: nothing goes on'

# Without a terminal, and on one that cannot move its cursor: lines.
at_home lines 'steps 5 0.1'
local_orch run lines.lua -y
exits 0 'without a terminal'
lacks "$out" $'\e' 'without a terminal'
has "$out" ': finished' 'without a terminal'

# Colours are only ours; control characters in names are printed as \xNN.
odd=$'x\e[2Jy'
experiment odd 1 | sed 's/accumulate = many/global_batch = 64/' >"$odd.lua"
on_terminal 100 -- search "$odd.lua"
exits 0 'an odd name on a terminal'
has "$out" $'\e[1m' 'colours'
lacks "$out" $'\e[2J' 'an odd name on a terminal'
has "$out" '\x1b[2J' 'an odd name on a terminal'
