#!/bin/bash
# orch models against the published sizes, bytes per GPU and times.
. "$(dirname -- "$0")/lib.sh"

orch models
exits 0 models
size() { # MODEL LABEL
  local line
  line=$(grep -E "^$1 " "$work/out") || true
  same "$2" "$(awk '{print $(NF - 1)}' <<<"$line")" "the size of $1"
}
# layers*(12h^2+13h) + vocab*h + seq*h + 2h, as the sources print it.
size gpt-145b 146B
size gpt-310b 310B
size gpt-530b 530B
size gpt-199b 199B
size gpt-206b 206B
size gpt-106x12288 195B
size gpt-100x12288 184B
size gpt-82x13312 178B
size gpt-94x13312 203B
size gpt-70x14336 176B
size gpt-82x14336 206B
size gpt-104b 104B
size gpt-1.3b 1.32B

# A size of one's own: 205B, 112 layers of 12288.
cat >own.lua <<'LUA'
return experiment {
  model = gpt { layers = 112, hidden = 12288, heads = 96, vocab = 150257, seq = 2048 },
  hardware = { cluster = "jean-zay", partition = "a100-80g", nodes = 48 },
  batch = { global_batch = 2048 },
  strategies = { megatron { tensor_parallel = 8, pipeline_parallel = 12 } },
}
LUA
orch plan own.lua
has "$out" 'gpt-205b' 'a model is named after its size'

# The 104B with TP=4 and PP=32, 18 bytes per parameter.
orch models gpt-104b --tensor-parallel 4 --pipeline-parallel 32
exits 0 gpt-104b
for number in 582,981,200 145,745,300 1,614,870,800 403,717,700 807,435,400 14,533,837,200 \
  953,180,700 17,157,252,600; do
  has "$out" "$number" 'the 104B per GPU'
done
orch models gpt-104b --tensor-parallel 4 --pipeline-parallel 32 --format json
python3 - "$work/out" <<'PY' || bad 'the 104B per GPU as JSON'
import json, sys
parts = json.load(open(sys.argv[1]))["parts"]
assert [part["params_per_gpu"] for part in parts] == [145745300, 403717700, 807435400, 953180700]
assert [part["bytes_per_gpu"] for part in parts][2:] == [14533837200, 17157252600]
PY
# Four layers of the 206B on a GPU, and its embedding.
orch models gpt-206b --tensor-parallel 4 --pipeline-parallel 24
for number in 2,000,221,184 500,055,296 531,671,296 2,126,685,184 38,280,333,312; do
  has "$out" "$number" 'the 206B per GPU'
done

# 8 * 300B * 200B / (350 * 150T) and the same in hours.
orch models --params 200e9 --tokens 300e9 --gpus 350 --tflops 150
exits 0 'a training time'
has "$out" '105.82 days' 'a training time'
has "$out" '888,888.89 GPU-hours' 'a training time'
orch models --params 200e9 --tokens 300e9 --gpus 350 --tflops 150 --format json
python3 - "$work/out" <<'PY' || bad 'a training time as JSON'
import json, sys
data = json.load(open(sys.argv[1]))
assert round(data["days"], 2) == 105.82 and round(data["gpu_hours"], 2) == 888888.89, data
PY
for format in md json; do
  for verb in models clusters backends; do
    orch "$verb" --format "$format"
    exits 0 "$verb --format $format"
  done
done

# --- families ---------------------------------------------------------------------------------------

cat >"$work/circle.lua" <<'LUA'
return experiment { name = "circle", hardware = { cluster = "dgx-h100", gpus = 8 }, strategies = { ddp {} },
  model = llama { layers = 2, hidden = 64, heads = 4, vocab = 100, seq = 16,
                  tied = function(r) return r.params > 1e9 end } }
LUA
orch plan "$work/circle.lua"
has "$out" 'model.tied: depends on itself' 'a circle through a flag'
lacks "$out$err" 'variant' 'and nothing else of it'
cat >"$work/dealt.lua" <<'LUA'
return experiment { name = "dealt", hardware = { cluster = "dgx-h100", gpus = 8 }, strategies = { fsdp {}, megatron {} },
  model = moe { layers = 2, hidden = 64, heads = 4, vocab = 100, seq = 16, experts = 4,
                experts_per_token = 2, expert_parallel = 2 } }
LUA
orch plan "$work/dealt.lua"
exits 0 'experts dealt to ranks'
has "$out" 'all megatron: expert_parallel=2' 'by the strategy that can'
has "$out" 'fsdp deals no experts' 'and the other says that it does not'
orch run "$work/dealt.lua" -y --runs "$work/runs"
exits 1 'asked to train experts'
has "$out$err" 'moe models are planned and estimated, not trained' 'and why not'
