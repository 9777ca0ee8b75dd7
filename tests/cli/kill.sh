#!/bin/bash
# kill -9 at twenty points in time during a run: folders are complete or do not exist, and the next
# run completes them.
. "$(dirname -- "$0")/lib.sh"

runs=2000
experiment many "$runs" >many.lua
start=$(date +%s%N)
orch run many.lua --runs once
exits 0 'a run that nobody kills'
took=$((($(date +%s%N) - start) / 1000)) # microseconds
same "$runs" "$(whole once/many)" 'a run that nobody kills'

killed=0
for i in $(seq 20); do
  rm -rf killed
  "$orch_program" run many.lua --runs killed >/dev/null 2>&1 </dev/null &
  pid=$!
  sleep "$(printf '0.%06d' $((RANDOM * 32768 % took * 9 / 10)))"
  if kill -KILL "$pid" 2>/dev/null; then killed=$((killed + 1)); fi
  wait "$pid" 2>/dev/null || true
  if [ -d killed/many ]; then whole killed/many once/many >/dev/null; fi
  if [ $((i % 4)) = 0 ]; then
    orch run many.lua --runs killed
    exits 0 "after kill $i"
    same "$runs" "$(whole killed/many once/many)" "after kill $i"
    same '' "$(find killed -name '.tmp*')" "after kill $i no drafts are left"
  fi
done
echo "killed $killed of 20 runs before their end"
if [ "$killed" = 0 ]; then bad 'at least one run was killed'; fi
