#!/bin/bash
# The log of a run: its end, one rank, as it grows, whatever is in it.
. "$(dirname -- "$0")/lib.sh"
. "$here/runs.sh"

planned one 2
run=runs/one/${ids[0]}
orch logs "${ids[0]}"
exits 1 'a run that has not started'
has "$err" 'has not started' 'a run that has not started'
has "$err" 'orch status' 'a run that has not started'
orch logs nothing
exits 1 'no such run'
orch logs "${ids[0]:0:-1}x"
exits 1 'a typo'
has "$err" "did you mean '${ids[0]}'?" 'a typo'
orch logs gpt
exits 1 'a beginning that both have'
has "$err" "${ids[1]}" 'a beginning that both have'

attempt "$run" 1 failed
for i in {1..100}; do printf '%d: line %d\n' $((i % 4)) "$i"; done >"$run/attempts/1/stdout.log"
attempt "$run" 2 finished
orch logs "${ids[0]}"
exits 0 'an attempt without a log'
same '' "$out" 'an attempt without a log'
echo 'the second attempt' >"$run/attempts/2/stdout.log"
orch logs "$run"
same 'the second attempt' "$out" 'the last attempt, by its folder'
orch logs "${ids[0]##*-}" --attempt 1
same 50 "$(wc -l <<<"$out")" 'fifty lines, by its hash'
same '0: line 100' "${out##*$'\n'}" 'fifty lines'
orch logs "${ids[0]}" --attempt 1 --lines 3
same $'2: line 98\n3: line 99\n0: line 100' "$out" --lines
orch logs "${ids[0]}" --attempt 1 --lines 0
same 100 "$(wc -l <<<"$out")" 'all lines'
orch logs "${ids[0]}" --attempt 1 --lines 0 --rank 3
same 25 "$(wc -l <<<"$out")" --rank
lacks "$out" '2: line' --rank
orch logs "${ids[0]}" --attempt 1 --rank 77
exits 0 'a rank that said nothing'
same '' "$out" 'a rank that said nothing'
orch logs "${ids[0]}" --attempt 3
exits 1 'no such attempt'
has "$err" 'has no attempt 3' 'no such attempt'
has "$err" 'there are 2' 'no such attempt'

# Rubbish, escapes and progress bars.
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

# As it grows: what is there, what comes, and it ends with the attempt.
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

# Ctrl-C leaves.
attempt "$run" 4 running
timeout --preserve-status -s INT 1 "$orch_program" logs "${ids[0]}" -f >/dev/null 2>&1 && code=0 || code=$?
exits 130 'Ctrl-C'
