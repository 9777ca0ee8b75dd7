#!/bin/bash
# Variations of one experiment without an editor: --set, include, stdin, lists in training, repeats,
# a cluster in five lines, and the user's own GPUs and models.
# shellcheck source=lib.sh
. "$(dirname -- "$0")/lib.sh"

cat >small.lua <<'LUA'
return experiment {
  name = "small",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 1 },
  batch = { global_batch = 64 },
  strategies = { fsdp { micro_batch = 1 }, megatron { tensor_parallel = 2, micro_batch = 1 } },
}
LUA
ids() { jq -r '.runs[].id' "$work/out"; }

# --- --set has the effect of the same text in the file
orch plan small.lua --format json --set hardware.nodes=2 --set strategies.fsdp.micro_batch=1,2
exits 0 'plan with --set'
ids >"$work/set"
sed 's/nodes = 1/nodes = 2/; s/fsdp { micro_batch = 1 }/fsdp { micro_batch = { 1, 2 } }/' small.lua >edited.lua
orch plan edited.lua --format json
ids >"$work/edited"
same "$(cat "$work/edited")" "$(cat "$work/set")" 'the same runs as of a file that says so'
same 3 "$(wc -l <"$work/set")" 'two of fsdp, one of megatron'

orch plan small.lua --format json --set strategies.2.tensor_parallel=4 --set model.seq=1024 --set batch=nil
exits 0 'a position, a size of a preset, and nothing'
has "$out" '"tensor_parallel": 4' 'strategies.2'
has "$out" '"seq": 1024' 'model.seq of a preset'

orch plan small.lua --format json --set 'strategies={ ddp { compression = powersgd { rank = 2 } } }'
exits 0 'a value in Lua'
has "$out" '"strategy": "ddp"' 'strategies'

# --- and its errors have a place
orch plan small.lua --set strategies.fdsp.micro_batch=4
has "$err" "error: --set strategies.fdsp.micro_batch=4: no strategy 'fdsp' in this experiment
  did you mean 'fsdp'?; or its position in the list, from 1" 'a strategy that is not there'
orch plan small.lua --set strategies.3.micro_batch=4
has "$err" 'strategies has 2 entries' 'a position that is not there'
orch plan small.lua --set hardware.nodes.x=4
has "$err" 'hardware.nodes is a number, and has no fields' 'a field of a number'
orch plan small.lua --set hardware.nodes=many
has "$err" 'error: --set hardware.nodes=many: ' 'a word for a number'
for bad in hardware.nodes '=1' 'hardware.=1' 'hardware.nodes='; do
  orch plan small.lua --set "$bad"
  exits 3 "--set $bad"
  has "$err" "error: --set $bad: " "--set $bad"
done
orch plan small.lua --set 'hardware.nodes=os.exit(1)'
exits 3 'no way out of the sandbox'
has "$err" 'os is not available' 'no way out of the sandbox'

# --- every verb that reads an experiment
orch search small.lua --set hardware.nodes=2 --top 2
exits 0 'search --set'
has "$out" 'GPUs 16' 'search --set'
has "$(tr '\n' ' ' <"$work/out")" 'orch search small.lua --set hardware.nodes=2 --write' 'its next step says it too'
orch explain small.lua --set hardware.nodes=2
exits 0 'explain --set'
has "$out" 'on 16 x a100-80g' 'explain --set'
orch report small.lua --set hardware.nodes=2 --format json
exits 0 'report --set'
has "$out" '"gpus": 16' 'report --set'
orch run small.lua --set hardware.nodes=2 --runs runs
exits 0 'run --set'
has "$out" '2 run folders written' 'run --set'
has "$(cat runs/small/*fsdp*/provenance.json)" '"hardware.nodes=2"' 'where a run is from'
orch explain "$(basename runs/small/*fsdp*)" --set hardware.nodes=4
exits 2 'a run is frozen'
has "$err" 'the run folder cannot be changed' 'a run is frozen'

# --- stdin
orch_in() {
  code=0
  PATH=$work/no_programs "$orch_program" "$@" >"$work/out" 2>"$work/err" || code=$?
  out=$(cat "$work/out") err=$(cat "$work/err")
}
orch plan small.lua --format json
ids >"$work/file"
orch_in plan - --format json <small.lua
exits 0 'plan from stdin'
same "$(cat "$work/file")" "$(ids)" 'the same runs'
orch_in explain - <small.lua
exits 0 'explain from stdin'
orch_in run - --runs stdin <small.lua
exits 0 'run from stdin'
has "$(cat stdin/small/*fsdp*/provenance.json)" '"<stdin>"' 'where it is from'
orch_in plan - <<<'return experiment { name = }'
exits 3 'a mistake on stdin'
has "$err" 'error: <stdin>:1: ' 'a mistake on stdin'

# --- include
mkdir -p parts/deep
cat >parts/hardware.lua <<'LUA'
return include "deep/nodes.lua"
LUA
echo 'return { cluster = "dgx-a100", nodes = 1 }' >parts/deep/nodes.lua
cat >with.lua <<'LUA'
return experiment {
  name = "with",
  model = "gpt-1.3b",
  hardware = include "parts/hardware.lua",
  batch = { global_batch = 64 },
  strategies = { fsdp {} },
}
LUA
orch plan with.lua --set hardware.nodes=2 --format json
exits 0 'include and --set'
has "$out" '"gpus": 16' 'include and --set'
orch run with.lua --runs included
has "$(cat included/with/*/provenance.json)" '"parts/deep/nodes.lua"' 'included files are known'
mkdir -p up/below
printf 'return 2' >up/nodes.lua
printf 'return include "../nodes.lua"' >up/below/more.lua
printf 'return experiment { model = "gpt-1.3b", strategies = { ddp {} }, hardware = { cluster = "dgx-a100", nodes = include "below/more.lua" } }' >up/climbs.lua
orch plan up/climbs.lua --format json
exits 0 'up again, within the folder'
has "$out" '"gpus": 16' 'up again, within the folder'
say_include() { printf 'local x = include %s\nreturn experiment {}\n' "$1" >bad.lua && orch plan bad.lua && exits 3 "include $1"; }
echo 'return 1' >../outside.lua
ln -s ../outside.lua link.lua
mkdir folder
printf 'return include "round.lua"' >round.lua
say_include '"../outside.lua"'
has "$err" 'error: bad.lua:1: include "../outside.lua" leads out of the experiment'"'"'s folder' 'no way up'
say_include '"/etc/passwd"'
has "$err" 'leads out of' 'no absolute path'
say_include '"link.lua"'
has "$err" 'is a link that leads out of' 'no link out'
say_include '"nothing.lua"'
has "$err" 'error: bad.lua:1: include "nothing.lua": no such file' 'a file that is missing'
say_include '"folder"'
has "$err" 'is not a file' 'a folder'
say_include '{}'
has "$err" 'include takes the name of a file' 'a table'
say_include '"round.lua"'
has "$err" 'error: round.lua:1: include "round.lua" is circular' 'a circle, at its place'
printf 'local a = 1\nlocal b = a.x.y\n' >broken.lua
say_include '"broken.lua"'
has "$err" 'error: broken.lua:2: ' 'the line of the included file'
printf 'while true do end\n' >endless.lua
say_include '"endless.lua"'
has "$err" 'error: endless.lua:1: more than 50,000,000 instructions' 'an endless one ends'

# --- the user's own clusters, GPUs and models
mkdir clusters
cat >clusters/ours.yaml <<'YAML'
name: ours
like: dgx-h100
partitions:
  - name: h100-80g
    nodes: 24
YAML
orch clusters
exits 0 'clusters'
has "$out" 'ours ' 'a cluster in five lines'
has "$out" 'like dgx-h100' 'what it is like'
orch clusters ours
has "$out" 'like dgx-h100; read from clusters/ours.yaml' 'what it is like, and its file'
has "$out" 'h100-80g: 24 nodes of 8 x h100-80g' 'what differs'
orch plan small.lua --set hardware.cluster=ours --set hardware.nodes=24 --set batch.global_batch=192
exits 0 'a run on it'
has "$out" 'partition ours/h100-80g, GPUs 192' 'a run on it'
mkdir -p "$XDG_DATA_HOME/orch/clusters"
printf 'h1:\n  like: h100-80g\n  memory_bandwidth: { value: 1 TB/s, origin: "measured: here" }\n' >gpus.yaml
printf 'h2: { like: h200 }\nh1: { like: h200 }\n' >"$XDG_DATA_HOME/orch/gpus.yaml"
printf 'name: theirs\nlike: ours\npartitions: [{ name: x, gpu: h1 }, { name: y, gpu: h2 }]\n' >"$XDG_DATA_HOME/orch/clusters/theirs.yaml"
orch clusters theirs
exits 0 'GPUs of two files'
has "$out" 'h1: like h100-80g; read from gpus.yaml' 'beside goes before the own folder'
has "$out" "h2: like h200; read from $XDG_DATA_HOME/orch/gpus.yaml" 'the own folder'
has "$out" '1000 GB/s  measured: here' 'what differs'
printf 'return { ["mine"] = preset("gpt-1.3b", { seq = 4096 }), ["gpt-13b"] = gpt { layers = 40, hidden = 5120, heads = 40, vocab = 50257, seq = 1024 } }\n' >models.lua
orch models
exits 0 'models'
if ! grep -Eq '^mine .* \.$' "$work/out"; then bad 'where a model is from' "$out"; fi
if ! grep -Eq '^gpt-1.3b .* shipped$' "$work/out"; then bad 'where a shipped model is from' "$out"; fi
orch plan small.lua --set model=mine
exits 0 'a run with it'
orch doctor
has "$out" 'clusters  ' 'doctor'
if ! grep -q 'models  *2 in \., [0-9]* shipped' "$work/out"; then bad 'doctor: models' "$out"; fi
# --- a family beside an experiment: the text of docs/models.md, word for word
sed -n '/^-- models.lua: /,/^```/p' "$ORCH_HOME/docs/models.md" | grep -v '^```' >models.lua
cat >neo.lua <<'LUA'
return experiment {
  name = "neo",
  model = { "neox-20b", neo { layers = 2, hidden = 64, heads = 4, vocab = 100, seq = 16 } },
  hardware = { cluster = "dgx-a100", nodes = 12 },
  batch = { global_batch = 1536 },
  strategies = { fsdp {} },
}
LUA
orch models neox-20b
exits 0 'a preset of a family of models.lua'
has "$out" '20,554,567,680' 'its parameters, as published'
orch plan neo.lua
exits 0 'a family of models.lua'
has "$out" '2 runs, 0 rejected' 'a family of models.lua'
printf 'return { ["a b"] = function(t) return gpt(t) end }' >models.lua
orch plan neo.lua
exits 3 'a family that no file can name'
has "$err" "a family called 'a b' cannot be written in Lua" 'a family that no file can name'
printf 'return { megatron = function(t) return gpt(t) end }' >models.lua
orch plan neo.lua
has "$err" "'megatron' is a function of experiments" 'a family with the name of a strategy'
printf 'return { neo = function(t) return 3 end, ["neox-20b"] = preset("gpt-1.3b") }' >models.lua
orch plan neo.lua
exits 3 'a family that makes no model'
has "$err" 'model[2]: a number is not a model' 'a family that makes no model'
printf 'return 3\n' >models.lua
orch plan small.lua
exits 3 'a broken file of models'
has "$err" 'models.lua: does not return a table of models' 'a broken file of models'
rm models.lua

# --- lists in training, and repeats
cat >learn.lua <<'LUA'
return experiment {
  name = "learn",
  model = "gpt-tiny",
  hardware = { cluster = "local", gpus = 1 },
  batch = { global_batch = 2 },
  steps = 1,
  training = { seed = { 1, 2 }, learning_rate = 1e-3 },
  strategies = { ddp { dtype = "fp32" } },
}
LUA
orch plan learn.lua --set training.learning_rate=1e-3,2e-3
exits 0 'a sweep of training'
has "$out" '4 runs' 'a sweep of training'
has "$out" 'ddp learning_rate=0.002 seed=2' 'each run says which it is'
orch run learn.lua --set training.seed=1 --dry-run
has "$out" '1 run,' 'one value is no sweep'
orch plan learn.lua --set repeats=3 --format json
exits 0 'repeats'
same 6 "$(ids | wc -l)" 'three of each'
orch plan learn.lua --format json
ids >"$work/once"
orch plan learn.lua --set repeats=3 --format json
same 2 "$(ids | grep -cFf "$work/once")" 'the first of each is the run itself'
orch search learn.lua --top 1
exits 0 'search of several trainings'
has "$out" 'searched with the first of 2 trainings: seed = 1; --write keeps them all' 'and with which'
orch search learn.lua --top 1 --set training.seed=1
lacks "$out$err" 'trainings' 'one training is no news'
orch plan learn.lua --set training.seed=x,2
has "$err" 'error: --set training.seed=x,2: ' 'a mistake in a list'

# --- a calendar
cat >when.lua <<'LUA'
return experiment {
  name = "when",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = { 16, 48, 64 } },
  batch = { global_batch = 1536 },
  tokens = 300e9,
  availability = { { from = "2027-01-01", nodes = 18 }, { from = "2027-02-15", nodes = 48, share = 0.8 } },
  strategies = { fsdp {} },
}
LUA
orch plan when.lua --format json
exits 0 'a calendar'
has "$out" '64 nodes, but at most 48 are ever available' 'more nodes than ever come'
python3 - "$work/out" <<'PY' || bad 'dates follow the windows' "$out"
import datetime, json, sys
day = datetime.date.fromisoformat
for run in json.load(open(sys.argv[1]))["runs"]:
    days = run["days_to_train"]
    first, second = day("2027-01-01"), day("2027-02-15")
    alone = (second - first).days
    if run["nodes"] == 48:
        end = second + datetime.timedelta(days=int(days / 0.8))
    else:
        end = first + datetime.timedelta(days=int(days if days <= alone else alone + (days - alone) / 0.8))
    assert run["ends"] == str(end), (run["ends"], end, days)
PY
orch explain when.lua --where 'nodes == 48' --format json
same '"2027-02-15"' "$(jq '.schedule[0].from' <<<"$out")" 'a run waits for its nodes'

# --- finished runs are repeated
# shellcheck source=local.sh
. "$here/local.sh"
at_home again 'steps 5 0.02'
local_orch run again.lua -y
exits 0 'run'
has "$out" '2 runs submitted' 'run'
local_orch run again.lua -y
has "$out" '2 finished' 'nothing is done twice unasked'
local_orch run again.lua -y --again
exits 0 'run --again'
has "$out" '2 runs submitted' 'run --again'
same 2 "$(find runs/again -maxdepth 1 -name '*-r2-*' | wc -l)" 'the second of each'
local_orch run again.lua -y --again
same 2 "$(find runs/again -maxdepth 1 -name '*-r3-*' | wc -l)" 'the third of each'
same 6 "$(find runs/again -maxdepth 2 -name run.json | wc -l)" 'and the old ones are still there'
orch compare --in runs/again gpus=1 gpus=2
exits 0 'compare'
has "$out" '3 repeats' 'three repeats of each'
