#!/bin/bash
# A cluster file that contradicts the cluster: all contradictions are reported before anything is
# submitted.
. "$(dirname -- "$0")/lib.sh"
. "$here/fake_slurm.sh"
export ORCH_TRAINER=/bin/true

# Partitions and nodes as scontrol and sinfo print them.
sed 's/PartitionName=defq/PartitionName=gpu_p13/; s/MaxTime=UNLIMITED/MaxTime=20:00:00/; s/TotalNodes=4/TotalNodes=3/; s/Nodes=dgx-\[1-4\]/Nodes=v100-[1-3]/' \
  "$fake/partitions" >"$work/p13"
sed 's/PartitionName=defq/PartitionName=gpu_p5/; s/Default=YES/Default=NO/; s/MaxTime=UNLIMITED/MaxTime=4-04:00:00/; s/AllowAccounts=ALL/AllowAccounts=six@a100/' \
  "$fake/partitions" >"$work/p5"
cat "$work/p13" "$work/p5" >"$fake/partitions"
cat >"$fake/nodes" <<'TEXT'
gpu_p13|2|gpu:v100:4(S:0-1)|v100-32g|idle
gpu_p13|1|gpu:v100:4(S:0-1)|v100-16g|mixed
gpu_p5|4|gpu:a100:8(S:0-1)|a100|idle
TEXT

sweep() { # NAME HARDWARE: an experiment on Jean Zay
  cat >"$1.lua" <<LUA
return experiment {
  name = "$1",
  model = "gpt-tiny",
  hardware = { cluster = "jean-zay", $2 },
  batch = { micro_batch = 4 },
  tokens = 1e6,
  strategies = { ddp { dtype = "fp32" } },
}
LUA
}
contradicts() { # NAME HARDWARE PART...: refused with these words
  local name=$1 part
  sweep "$1" "$2"
  shift 2
  with_slurm run "$name.lua" -y --detach
  exits 3 "$name"
  for part in "$@"; do has "$err" "$part" "$name"; done
  same '' "$(submitted)" "$name: nothing was submitted"
}

contradicts features 'partition = "v100-32g", gpus = 8, constraint = "v100-33g"' \
  "constraint 'v100-33g': no node of partition gpu_p13 has it" "did you mean 'v100-32g'?"
contradicts gres 'partition = "v100-32g", gpus = 4, gres = "gpu:6"' \
  'gres gpu:6, but a node of partition gpu_p13 has at most 4' 'use 4 or fewer per node'
contradicts kind 'partition = "v100-32g", gpus = 4, gres = "gpu:h100:4"' \
  "gres 'gpu:h100': no node of partition gpu_p13 has it" 'gpu:v100'
contradicts time 'partition = "v100-32g", gpus = 4, time = "100:00:00"' \
  'time 100:00:00 is over the limit of partition gpu_p13' 'ask for 20:00:00 or less'
contradicts nodes 'partition = "v100-32g", gpus = 16' \
  '4 nodes, but partition gpu_p13 has 3' 'use fewer nodes'
contradicts together 'partition = "v100-32g", gpus = 12' \
  "3 nodes with gres 'gpu:4' and constraint 'v100-32g', but partition gpu_p13 has 2"
contradicts account 'partition = "a100-80g", gpus = 8, account = "seven@a100"' \
  "account 'seven@a100' may not use partition gpu_p5" 'one of: six@a100'

# A container: its program and its image, and whether srun knows Pyxis.
contradicts container 'partition = "v100-32g", gpus = 4, container = { image = "/no/torch.sif", runtime = "apptainer" }' \
  "container: no program 'apptainer' for runtime apptainer" 'container: no such image: /no/torch.sif'
program srun <<'BASH'
echo 'Usage: srun [OPTIONS...] executable [args...]'
BASH
contradicts pyxis 'partition = "v100-32g", gpus = 4, container = { image = "torch", runtime = "pyxis" }' \
  'container: srun has no option --container-image: Pyxis is not installed here'

# All at once, with the name of the cluster's file.
contradicts everything 'partition = { "v100-32g", "a100-80g" }, gpus = 32, time = "200:00:00", gres = "gpu:16", constraint = "v200"' \
  'jean-zay.yaml: v100-32g: ' 'jean-zay.yaml: a100-80g: ' \
  'time 200:00:00 is over the limit of partition gpu_p13' \
  'time 200:00:00 is over the limit of partition gpu_p5' \
  'gres gpu:16, but a node of partition gpu_p13 has at most 4' \
  'gres gpu:16, but a node of partition gpu_p5 has at most 8' \
  "constraint 'v200': no node of partition gpu_p13 has it" \
  "constraint 'v200': no node of partition gpu_p5 has it" \
  '8 nodes, but partition gpu_p13 has 3'

# A partition that the cluster does not have.
mkdir clusters
sed 's/partition: gpu_p13/partition: gpu_p31/' "$ORCH_HOME/experiments/clusters/jean-zay.yaml" >clusters/jean-zay.yaml
contradicts partition 'partition = "v100-32g", gpus = 4' \
  "clusters/jean-zay.yaml: v100-32g: no partition 'gpu_p31' on cluster toy" "did you mean 'gpu_p13'?"
rm -r clusters

# A partition that is down accepts no jobs.
sed -i '/PartitionName=gpu_p13/s/State=UP/State=DRAIN/' "$fake/partitions"
contradicts state 'partition = "v100-32g", gpus = 4' 'partition gpu_p13 is DRAIN'
sed -i 's/State=DRAIN/State=UP/' "$fake/partitions"

# Valid requests are submitted, once. What only sbatch refuses is not submitted.
sweep good 'partition = "v100-32g", gpus = 8'
with_slurm run good.lua -y --detach
exits 0 'nothing contradicts'
same 1 "$(submitted | wc -l)" 'nothing contradicts'
has "$(submitted)" '--comment=orch:0001-' 'nothing contradicts'
sed -i "s/^\*--test-only\*).*/*--test-only*) echo 'allocation failure: Invalid qos specification' >\&2; exit 1 ;;/" "$fake/sbatch"
sweep refused 'partition = "v100-32g", gpus = 4, qos = "none"'
with_slurm run refused.lua -y --detach
exits 3 'refused by sbatch --test-only'
has "$err" 'Invalid qos specification' 'refused by sbatch --test-only'
same 1 "$(submitted | wc -l)" 'refused by sbatch --test-only'

# A controller that stops answering.
program sinfo <<'BASH'
echo 'slurm_load_partitions: Unable to contact slurm controller (connect failure)' >&2
exit 1
BASH
sweep silent 'partition = "v100-32g", gpus = 4'
with_slurm run silent.lua -y --detach --patience 0
exits 5 'sinfo does not answer'
has "$err" 'Unable to contact slurm controller' 'sinfo does not answer'
same 1 "$(submitted | wc -l)" 'sinfo does not answer'
