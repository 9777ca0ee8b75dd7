#!/bin/bash
# Every shipped experiment can be run, and each of its runs that SLURM would start has a script.
# shellcheck source=lib.sh
. "$(dirname -- "$0")/lib.sh"

for file in "$ORCH_HOME"/experiments/*.lua; do
  name=$(basename -- "$file" .lua)
  # These would train here (tests/trainers does that) or need a GPU here.
  if [[ $name == @(models|tiny|strategies|fsdp_vs_deepspeed_here|one_gpu|one_h200|one_h200_llama) ]]; then continue; fi
  orch run "$file" --runs "runs"
  exits 0 "run $name"
  folders=(runs/"$name"/*/)
  if [ ! -e "${folders[0]}/run.json" ]; then bad "$name: run folders" "${folders[@]}"; fi
  for folder in "${folders[@]}"; do
    if ! bash -n "$folder/job.sbatch"; then bad "$folder: job.sbatch"; fi
  done
done

for name in fsdp_vs_deepspeed_here one_gpu one_h200 one_h200_llama; do
  orch plan "$ORCH_HOME/experiments/$name.lua"
  exits 0 "plan $name"
  has "$(cat "$work/out")" ' 0 rejected' "$name: all of them can be run"
done

# Days per 100B tokens for each strategy of the published list, on 2 to 48 GPUs.
orch run "$ORCH_HOME/experiments/bloom7b_days.lua" --runs runs --format md
exits 0 "bloom7b_days as Markdown"
for strategy in '| fsdp ' '| deepspeed stage=1 ' '| deepspeed stage=2 ' '| deepspeed stage=3 ' \
  '| ddp | ' '| ddp compression=powersgd '; do
  for gpus in 2 4 8 16 32 48; do
    if ! grep -q "| $gpus |" <<<"$(grep -F "$strategy" "$work/out")"; then
      bad "bloom7b_days: $strategy on $gpus GPUs"
    fi
  done
done
