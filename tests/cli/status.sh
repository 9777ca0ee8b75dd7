#!/bin/bash
# The state of runs, in all formats, from folders alone: SLURM not found.
. "$(dirname -- "$0")/lib.sh"
. "$here/runs.sh"

orch status
exits 1 'no runs at all'
has "$err" 'no runs' 'no runs at all'
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

# tests/app/follow_test.cpp checks the content.
orch status
exits 4 'status with failures'
same '' "$err" 'status with failures'
lacks "$out" $'\e' 'no colours in a pipe'

planned second 2
other=${ids[0]}

# Narrow and wide screens.
for columns in 60 200; do
  COLUMNS=$columns orch status first
  widest=$(python3 -c 'import sys; print(max(len(line.rstrip("\n")) for line in open(sys.argv[1])))' "$work/out")
  if [ "$widest" -gt "$columns" ]; then bad "COLUMNS=$columns orch status" "$widest columns" "$out"; fi
  has "$(tr -s ' \n' ' ' <"$work/out")" 'exit code 3' "COLUMNS=$columns orch status"
done

# A folder with a hostile name is shown, with no effect on the terminal.
mkdir -p $'runs/\e[2Jbad'
cp -r "runs/second/$other" $'runs/\e[2Jbad/\e[31mrun-00000000'
for format in table md csv json; do
  orch status --format "$format"
  lacks "$out$err" $'\e' "a hostile name, $format"
done
rm -r $'runs/\e[2Jbad'
