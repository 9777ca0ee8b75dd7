#!/bin/bash
# How runs stand, in all formats, from folders alone: there is no SLURM here.
. "$(dirname -- "$0")/lib.sh"
. "$here/runs.sh"

orch status
exits 1 'no runs at all'
has "$err" 'no runs are there' 'no runs at all'
has "$err" 'orch run FILE.lua makes some' 'no runs at all'

planned first 6
cd runs/first || exit 1
attempt "${ids[0]}" 1 finished
events "${ids[0]}" 1 40
attempt "${ids[1]}" 1 failed 'a task left with exit code 3'
attempt "${ids[2]}" 1 running
events "${ids[2]}" 1 20
attempt "${ids[3]}" 1 stopped 'saved before the time limit'
attempt "${ids[4]}" 1 failed 'killed'
echo 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB' \
  >"${ids[4]}/attempts/1/stdout.log"
cd ../..

# The table: trouble first, what is not known is not shown, the reasons.
orch status
exits 4 'status with failures'
same '' "$err" 'status with failures'
has "$out" 'bad exit: a task left with exit code 3' status
has "$out" 'gpu memory: ' status
has "$out" 'CUDA out of memory' status
has "$out" 'saved before the time limit' status
has "$out" 'submitted by hand' status
has "$out" 'first: 1 finished, 1 running, 1 stopped, 2 failed, 1 planned; ' status
states=$(grep -o ' \(failed\|running\|stopped\|finished\|planned\) ' <<<"$out " | tr -d ' ' | uniq | head -n 5 | tr '\n' ' ')
same 'failed running stopped finished planned ' "$states" 'what needs a look comes first'
has "$out" '40/' 'the step'
lacks "$out" $'\e' 'no colours in a pipe'

# The same as JSON.
orch status first --format json
exits 4 'status as JSON'
same 1 "$(json 'doc["version"]')" JSON
same "['first']" "$(json '[e["name"] for e in doc["experiments"]]')" JSON
same 6 "$(json 'len(doc["runs"])')" JSON
same "['failed', 'failed', 'finished', 'planned', 'running', 'stopped']" \
  "$(json 'sorted(run["state"] for run in doc["runs"])')" JSON
same "['bad_exit', 'gpu_memory']" \
  "$(json 'sorted(run["failure"] for run in doc["runs"] if run["state"] == "failed")')" JSON
same "[40, 0.5, 16384.0]" "$(json '[[run["measured"][k] for k in ("step", "step_seconds", "tokens_per_second")] for run in doc["runs"] if run["state"] == "finished"][0]')" 'measured'
same True "$(json 'all(run["estimate"]["step_seconds"] > 0 for run in doc["runs"])')" 'estimated'
same True "$(json 'set(doc["runs"][0]) == {"experiment", "id", "strategy", "cluster", "gpus", "nodes", "steps", "estimate", "state", "failure", "reason", "due", "job", "submissions", "elapsed_seconds", "measured"}')" 'the keys of a run'
same '[[8.0, 3600.0]]' "$(json '[[run["measured"]["gpu_hours"], run["elapsed_seconds"]] for run in doc["runs"] if run["state"] == "finished"]')" 'an hour on eight GPUs'

orch status "${ids[0]}" --format csv
exits 0 'a run that finished'
same 2 "$(wc -l <<<"$out")" 'one run as CSV'
same 33 "$(tail -n 1 "$work/out" | tr ',' '\n' | wc -l)" 'the cells of a line'
has "$out" "first,${ids[0]},finished,none," 'one run as CSV'
orch status --format md
has "$out" '| run | state |' Markdown

# Several experiments at once: one document each way.
planned second 2
attempt "runs/second/${ids[0]}" 1 finished
other=${ids[0]}
orch status --format json
same "['first', 'second']" "$(json '[e["name"] for e in doc["experiments"]]')" 'two experiments as JSON'
same 8 "$(json 'len(doc["runs"])')" 'two experiments as JSON'
orch status --format csv
same 9 "$(wc -l <<<"$out")" 'two experiments as CSV'
same 1 "$(grep -c '^experiment,' <<<"$out")" 'two experiments as CSV'
orch status --format md
has "$out" '## second' 'two experiments as Markdown'
orch status
has "$out" 'first: 1 finished' 'two experiments as tables'
has "$out" 'second: 1 finished, 1 planned' 'two experiments as tables'
orch status second
exits 0 'one of two experiments'
lacks "$out" 'first' 'one of two experiments'
orch status runs/second/ "${ids[1]}"
exits 0 'an experiment by its folder, and a run of it'
has "$out" '1 finished, 1 planned' 'an experiment by its folder, and a run of it'
orch status secnd
exits 1 'a typo'
has "$err" "did you mean 'second'?" 'a typo'
orch status "${ids[0]%?}"
exits 0 'the beginning of an id'
orch status gpt
exits 1 'a beginning that many have'
has "$err" 'runs begin like this' 'a beginning that many have'
orch status "${ids[0]}" zzz
exits 1 'one good word, one bad'
has "$err" zzz 'one good word, one bad'

# Narrow and wide.
for columns in 40 60 80 120 200; do
  COLUMNS=$columns orch status first
  widest=$(python3 -c 'import sys; print(max(len(line.rstrip("\n")) for line in open(sys.argv[1])))' "$work/out")
  if [ "$widest" -gt "$columns" ]; then bad "COLUMNS=$columns orch status" "$widest columns" "$out"; fi
  has "$(tr -s ' \n' ' ' <"$work/out")" 'exit code 3' "COLUMNS=$columns orch status"
done

# Thousands.
planned many 3000
orch status many
exits 0 'thousands of runs'
same 24 "$(grep -c . <<<"$out")" 'twenty of thousands' # beginning, head, twenty, and more, summary
has "$out" '… and 2980 more (--top 0)' 'twenty of thousands'
orch status many --top 3
has "$out" '… and 2997 more' 'three of thousands'
orch status many --top 0 --format csv
same 3001 "$(wc -l <<<"$out")" 'all of thousands'

# A folder with a hostile name is shown, and does nothing.
mkdir -p $'runs/\e[2Jbad'
cp -r "runs/second/$other" $'runs/\e[2Jbad/\e[31mrun-00000000'
for format in table md csv json; do
  orch status --format "$format"
  lacks "$out$err" $'\e' "a hostile name, $format"
done
rm -r $'runs/\e[2Jbad'
