#!/bin/bash
# The log of a run: its end, one rank, as it grows, with any content.
. "$(dirname -- "$0")/lib.sh"
. "$here/runs.sh"

planned one 2
run=runs/one/${ids[0]}
orch logs "${ids[0]}"
exits 1 'a run that has not started'
attempt "$run" 1 failed
attempt "$run" 2 finished

# Invalid bytes, escapes and progress bars.
log=$run/attempts/2/stdout.log
printf 'a\e[2J\e]0;title\ab\x9bc\n10%%\r20%%\rdone\r\n\ttabbed\n' >"$log"
head -c 100000 /dev/urandom >>"$log"
orch logs "${ids[0]}" --lines 0
exits 0 rubbish
if LC_ALL=C grep -q '[^[:print:][:space:]]' <(LC_ALL=C tr -d '\200-\377' <"$work/out"); then bad 'rubbish is neutralised'; fi
has "$out" 'a\x1b[2J\x1b]0;title\x07b\x9bc' 'escapes are shown, not obeyed'
has "$out" $'10%\n20%\ndone\n\ttabbed' 'what overwrites its line gets lines'
head -c 3000000 /dev/zero >"$log"
orch logs "${ids[0]}"
exits 0 'a line of three million zeros'

# Ten gigabytes, answered from the end.
truncate -s 10G "$log"
printf '\nthe end\n' >>"$log"
code=0
out=$(timeout 200 "$orch_program" logs "${ids[0]}" --lines 1 2>"$work/err") || code=$?
exits 0 'a log of 10 GB'
same 'the end' "$out" 'a log of 10 GB'
rm "$log"
mkdir "$log"
orch logs "${ids[0]}"
lacks "$out$err" 'bug' 'a folder in place of the log'
rmdir "$log"

# As it grows: existing lines, new lines, and it ends with the attempt.
attempt "$run" 3 running
log=$run/attempts/3/stdout.log
printf 'first\n' >"$log"
"$orch_program" logs "${ids[0]}" --follow >"$work/followed" 2>&1 &
follower=$!
seen() { for _ in {1..3000}; do if grep -q "$1" "$work/followed"; then return; fi; sleep 0.1; done; bad "follow shows '$1'"; }
seen first
printf 'sec' >>"$log"
printf 'ond\n' >>"$log"
seen '^second$'
printf 'third, without an end' >>"$log"
attempt "$run" 3 finished
code=0
(sleep 300 && kill "$follower") >/dev/null 2>&1 & watchdog=$!
wait "$follower" || code=$?
kill "$watchdog" 2>/dev/null || true
exits 0 'follow ends with the attempt'
same $'first\nsecond\nthird, without an end' "$(cat "$work/followed")" 'follow shows all of it'

# Ctrl-C ends it.
attempt "$run" 4 running
timeout --preserve-status -s INT 1 "$orch_program" logs "${ids[0]}" -f >/dev/null 2>&1 && code=0 || code=$?
exits 130 'Ctrl-C'
