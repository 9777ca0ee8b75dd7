#!/bin/bash
# kill -9 at twenty moments of a run: folders are whole or not there, and the next run completes.
. "$(dirname -- "$0")/lib.sh"

runs=3000
experiment many "$runs" >many.lua
start=$(date +%s%N)
orch run many.lua --runs once
exits 0 'a run that nobody kills'
took=$((($(date +%s%N) - start) / 1000)) # microseconds
same "$runs" "$(find once/many -mindepth 1 -maxdepth 1 | wc -l)" 'a run that nobody kills'

folders() { find killed/many -mindepth 1 -maxdepth 1 ! -name '.tmp-*' 2>/dev/null; }
killed=0
for i in $(seq 20); do
  rm -rf killed
  "$orch_program" run many.lua --runs killed >/dev/null 2>&1 </dev/null &
  pid=$!
  sleep "$(printf '0.%06d' $((RANDOM * 32768 % took * 9 / 10)))"
  kill -KILL "$pid" 2>/dev/null && killed=$((killed + 1))
  wait "$pid" 2>/dev/null || true
  # A folder that is there is the same as in the run that nobody killed.
  while read -r folder; do
    for file in run.json estimate.json job.sbatch; do
      if ! diff -q <(sed 's|/killed/|/once/|' "$folder/$file") "once/many/${folder##*/}/$file" >/dev/null; then
        bad "kill $i: $folder/$file is whole"
      fi
    done
  done < <(folders | shuf -n 200)
  if [ $((i % 5)) = 0 ]; then
    orch run many.lua --runs killed
    exits 0 "after kill $i"
    same "$runs" "$(folders | wc -l)" "after kill $i"
    same 0 "$(find killed -name '.tmp*' | wc -l)" "after kill $i no drafts are left"
  fi
done
echo "killed $killed of 20 runs before their end"
if [ "$killed" = 0 ]; then bad 'at least one run was killed'; fi
