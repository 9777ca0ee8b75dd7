#!/bin/bash
# Absurd files, and questions without an answer: orch reports an error and never crashes.
. "$(dirname -- "$0")/lib.sh"

# Every run is rejected: the page reports that.
cat >rejected.lua <<'LUA'
return experiment {
  name = "rejected", model = "gpt-206b", hardware = { cluster = "dgx-v100", gpus = 8 },
  batch = { global_batch = 8, micro_batch = 8 }, tokens = 1e9, strategies = { ddp { dtype = "bf16" } },
}
LUA
orch report rejected.lua -o rejected.html
exits 0 'report of nothing'
has "$out" 'no run is left to show' 'report of nothing'
for format in md csv json svg; do
  orch report rejected.lua --format "$format"
  exits 0 "report of nothing, $format"
done

experiment some 2 >some.lua
orch plan some.lua --where 'gpus == 7'
exits 3 'a filter that leaves nothing'
orch explain some.lua --where 'gpus == 7'
exits 3 'a filter that leaves nothing to explain'
orch plan some.lua --where 'gpus =='
exits 2 'a filter that is none'
orch run some.lua --runs ''
exits 2 'no folder'
has "$err" 'no folder given' 'no folder'

# A name equal to that of the index; a constraint that no run keeps; a step that never ends.
sed 's/name = "[^"]*"/name = "index.jsonl"/' some.lua >index.lua
orch plan index.lua
exits 3 'the name of the index'
has "$err" "name: 'index.jsonl' is reserved for a file of orch" 'the name of the index'
cat >never.lua <<'LUA'
return experiment {
  name = "never", hardware = { cluster = "jean-zay", partition = "a100-80g", nodes = 1 }, tokens = 1e9,
  model = "gpt-1.3b", batch = { global_batch = 64 }, strategies = { megatron {} },
  constraints = { ["a rule that nothing keeps"] = function(r) return false end },
  search = { params = "1.3B", tolerance = 0.03, layers = { from = 20, to = 30 }, heads = { 16 } },
}
LUA
orch search never.lua
exits 3 'a rule that nothing keeps'
has "$out$err" "constraint 'a rule that nothing keeps'" 'a rule that nothing keeps'
orch report "$ORCH_HOME/experiments/measured/bloom7b-days.csv" --format json
python3 -c '
import json, sys
records = json.load(sys.stdin)
for side in ("measured", "estimated"):
    records["records"][0][side]["step_seconds"] = records["records"][1][side]["step_seconds"] = 1e308
    records["records"][0][side]["days_per_100b_tokens"] = 1e308
    del records["records"][1][side]["days_per_100b_tokens"]
json.dump(records, open("endless.json", "w"))' <<<"$out"
orch report endless.json --format svg
exits 0 'a step that never ends'
has "$out" '</svg>' 'a step that never ends'

# JSON nested deeper than any stack, through each input.
python3 -c 'print("[" * 60000 + "]" * 60000)' >deep.json
python3 -c 'print("{\"a\":" * 60000 + "1" + "}" * 60000)' >deeper.json
mkdir model
for file in deep.json deeper.json; do
  cp "$file" model/config.json
  orch import model -o out
  exits 1 "a config.json, $file"
  cp "$file" model/tokenizer.json
  echo '{"text": "a"}' >text.jsonl
  orch data build text.jsonl -o data --tokenizer model/tokenizer.json
  exits 1 "a tokenizer.json, $file"
  orch report "$file"
  exits 1 "records, $file"
done

# Sizes that would exhaust memory.
config() { printf '{"model_type": "gpt2", "n_layer": %s, "n_embd": %s, "n_head": 4, "vocab_size": 100, "n_positions": 64}' "$@" >model/config.json; }
config 1000000000 64
orch import model -o out
exits 1 'a billion layers'
has "$err" 'n_layer is missing, or not a number from 1 to 100000' 'a billion layers'
config 2 4611686018427387904
orch import model -o out
exits 1 'a width of 2^62'
has "$err" 'n_embd is missing, or not a number from 1 to' 'a width of 2^62'

# Values of a cluster file in Latin-1; a home folder that cannot be read; extreme numbers; an
# invalid site and an invalid day.
mkdir -p home/templates
cp -r "$ORCH_HOME/experiments" home/
cp -r "$ORCH_HOME/templates/slurm" home/templates/
sed 's/^name: .*/name: old/; s/^doc: .*/doc: caf\xe9/' home/experiments/clusters/h200.yaml >home/experiments/clusters/old.yaml
ORCH_HOME=$PWD/home orch clusters --format json
exits 0 'a doc in Latin-1'
has "$out" '"old"' 'a doc in Latin-1'
orch models --params 1e9 --tokens 1e308 --tflops 100 --gpus 8
exits 2 'tokens without end'
has "$err" "'1e308' is not a number from 1e-12 to 1e+24" 'tokens without end'
orch models --params 1e24 --tokens 1e24 --tflops 1e-12 --gpus 1e-12
exits 0 'the most that can be asked'
lacks "$out" 'inf' 'the most that can be asked'
cat >long.lua <<'LUA'
return experiment {
  name = "long", model = "gpt-1.3b", hardware = { cluster = "jean-zay", partition = "a100-80g", nodes = 1 },
  batch = { global_batch = 64 }, tokens = 1e9, strategies = { megatron {} },
  constraints = { [("n"):rep(1e6)] = function(r) return ("why "):rep(250000) end },
}
LUA
orch plan long.lua
exits 3 'a reason of a megabyte'
has "$out$err" 'why why' 'a reason of a megabyte'
has "$out$err" '...' 'a reason of a megabyte is cut'
if [ $((${#out} + ${#err})) -gt 20000 ]; then bad 'a reason of a megabyte is not printed whole' "$((${#out} + ${#err})) bytes"; fi
rows=$ORCH_HOME/experiments/measured/bloom7b-days.csv
orch report "$rows" --format csv --cluster jean-zy
exits 1 'no such cluster'
has "$err" "did you mean 'jean-zay'?" 'no such cluster'
orch report "$rows" --format csv --set date=xyz
exits 1 'no day'
has "$err" 'write YYYY, YYYY-MM or YYYY-MM-DD' 'no day'
orch report "$rows" --format csv --set date=2022-05
exits 0 'a month'

# A mistake repeated in a long list is reported only a few times.
cat >many.lua <<'LUA'
local many = {}
for i = 1, 30000 do many[i] = "x" .. i end
return experiment {
  name = "many", model = "gpt-1.3b", hardware = { cluster = "dgx-a100", gpus = many },
  batch = { global_batch = 96 }, tokens = 1e9, strategies = { ddp {} },
}
LUA
orch plan many.lua
exits 3 'a list of nonsense'
has "$err" '… and 29950 more errors' 'a list of nonsense'

# The suggested steps work.
advice() { # PART STRATEGY MORE...
  cat >advice.lua <<LUA
return experiment {
  name = "advice", model = gpt { layers = 80, hidden = 8192, heads = 64, vocab = 50257, seq = 2048 },
  hardware = { cluster = "jean-zay", partition = "a100-80g", gpus = 96 }, tokens = 1e9,
  batch = { global_batch = 384, micro_batch = 1 ${3-} }, strategies = { $2 },
}
LUA
  orch plan advice.lua --format table
  has "$out$err" "$1" "advice for $2 ${3-}"
}
advice 'try layers = 82' 'megatron { tensor_parallel = 8, pipeline_parallel = 12, stage_partition = "transformer|embedding" }'
advice 'try a larger micro_batch' 'zero3 { recompute = "full" }'
advice 'takes 500,000 samples, and the training ends after 488,281' 'ddp {}' \
  ', rampup = { start = 96, step = 96, samples = 500000 }'
advice '' 'megatron { tensor_parallel = 8, pipeline_parallel = 4, launch_blocking = true }'
orch run advice.lua
has "$(cat runs/advice/*/job.sbatch)" 'export CUDA_LAUNCH_BLOCKING=1' 'launch_blocking reaches the job'

# Help and version, in all forms.
orch help
exits 0 help
same "$(PATH=$work/no_programs "$orch_program" --help)" "$out" 'help is --help'
orch help plan
exits 0 'help plan'
same "$(PATH=$work/no_programs "$orch_program" plan --help)" "$out" 'help plan is plan --help'
orch help pln
exits 2 'help of no verb'
has "$err" "did you mean 'plan'?" 'help of no verb'
orch version
has "$out" 'orch 0' version
orch -V
has "$out" 'orch 0' -V

# Control characters in files and names are printed as \xNN, not sent to the terminal: in errors, in
# tables, in the next step.
odd=$'x\e[2Jy'
experiment odd 1 | sed 's/accumulate = many/global_batch = 64/' >"$odd.lua"
printf '{"model":{"type":"\\u001b[2J"}}' >odd.json
shows() { # WHAT ARGUMENTS...
  orch "${@:2}"
  lacks "$out$err" $'\e' "$1"
  has "$out$err" '\x1b[2J' "$1"
}
shows 'the next step of a search' search "$odd.lua"
shows 'a file that was written' search "$odd.lua" --write "best$odd.lua"
shows 'a folder of runs' run "$odd.lua" --runs "$odd/runs"
shows 'a tokenizer' data build some.lua -o tokens --tokenizer odd.json
ORCH_PLUGINS=$PWD/no$odd shows 'a folder of plug-ins' backends
