#!/bin/bash
# A family that was added in four files (CMakeLists.txt), in every verb that knows models, and in a
# trainer if one was built: ORCH PLUGINS [TRAINER].
# shellcheck source=../cli/lib.sh
. "$(dirname -- "$0")/../cli/lib.sh"
export ORCH_PLUGINS=$2

# GPT-NeoX 20B has 20,554,567,680 parameters (its configuration, counted by hand).
cat >neox.lua <<'LUA'
return experiment {
  name = "neox",
  model = neo { name = "neox-20b", layers = 44, hidden = 6144, heads = 64, vocab = 50432, seq = 2048 },
  hardware = { cluster = "dgx-a100", nodes = 12 },
  batch = { global_batch = 1536 },
  strategies = { megatron { tensor_parallel = 2, pipeline_parallel = 4 }, fsdp {} },
}
LUA
orch plan neox.lua
exits 0 'plan'
has "$out" '2 runs, 0 rejected' 'plan'
orch explain neox.lua
exits 0 'explain'
has "$out" 'neox-20b: 20,554,567,680 parameters' 'as many parameters as it has'
orch search neox.lua --top 1 --write best.lua
exits 0 'search'
has "$(cat best.lua)" 'model = neo { ' 'written as it is'
orch plan neox.lua --set model.tied=true --set 'model.alibi=true'
has "$err" 'alibi' 'what it has not cannot be asked for'
orch models
exits 0 'models'

# The sizes that differ from the usual ones are its document, and it is read as it was written.
orch run neox.lua --runs planned
exits 0 'run folders'
has "$(cat planned/neox/*fsdp*/run.json)" '"family": "neo"' 'run.json'

if [ "$#" -lt 3 ]; then exit; fi
cat >tiny.lua <<'LUA'
return experiment {
  name = "tiny",
  model = neo { layers = 2, hidden = 32, heads = 4, vocab = 100, seq = 16 },
  hardware = { cluster = "local", gpus = 1 },
  batch = { global_batch = 2 },
  steps = 2,
  strategies = { ddp { dtype = "fp32" } },
}
LUA
orch run tiny.lua -y --runs trained
exits 0 'train'
has "$out" '1 finished' 'train'
# 2 layers of 12 * 32^2 + 13 * 32, a word embedding and a head of 100 * 32, and the last norm.
has "$(cat trained/tiny/*/attempts/1/events.jsonl)" '"parameters":31872' 'its tensors'
