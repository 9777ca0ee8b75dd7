-- torchtitan, 2024 to 2026. Its tokens per second are per GPU.

local GB = 2 ^ 30
local start = [[(?:(?<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[,.\d]*).*?)?\bstep:\s*(?<step>\d+)\s+loss:\s*(?<loss>[-+\w.]+)]]

local lines = {
  { name = "step", has = " tps: ", kind = "step", weight = 8, scale = { max_reserved = GB },
    match = start .. [[.*?(?:memory:\s*(?<max_reserved>[\d.]+)GiB\S*\s+)?tps:\s*(?<tokens_per_second_per_gpu>[\d.,]+)]]
      .. [[(?:\s+tflops:\s*(?<tflops>[\d.,]+))?]] },
  { name = "step of 2024", has = " wps: ", kind = "step", weight = 8, scale = { max_reserved = GB },
    match = start .. [[.*?(?:memory:\s*(?<max_reserved>[\d.]+)GiB\S*\s+)?wps:\s*(?<tokens_per_second_per_gpu>[\d.,]+)]] },
  { name = "program", has = "torchtitan", weight = 2, match = [[\btorchtitan[./](?:\w+[./])*train\b]] },
  { name = "job", has = "Starting job: ", begins_run = true, match = [[Starting job: (?<more_model_name>\S.*)]] },
  { name = "version", has = "torchtitan version: ", begins_run = true,
    match = [[torchtitan version: (?<version_torchtitan>\S+)]] },
  { name = "start", has = "Training starts at step ", begins_run = true },
  { name = "batch", has = "local batch size", weight = 3,
    match = [[local batch size:? (?<mbs>\d+), global batch size:? (?<gbs>\d+)]]
      .. [[(?:, gradient[ _]accumulation[ _]steps:? (?<gas>\d+))?, sequence length:? (?<seq>\d+), total steps:? (?<steps_planned>\d+)]] },
  { name = "size", has = " total parameters", weight = 4,
    match = [[[Mm]odel .*?size: (?<params>[\d,]+) total parameters]] },
  { name = "mesh", has = "Building device mesh with parallelism", weight = 4,
    match = [[\bpp=(?<pp>\d+).*?\bcp=(?<cp>\d+), tp=(?<tp>\d+)]] },
  { name = "experts of the mesh", has = "Building device mesh with parallelism", weight = 4,
    match = [[\bep=(?<more_expert_parallel>\d+)]] },
  { name = "shards of the mesh", has = "Building device mesh with parallelism", weight = 4,
    match = [[dp_replicate=1, dp_shard=(?<dp>\d+)]] },
  { name = "replicas of the mesh", has = "Building device mesh with parallelism", weight = 4,
    match = [[dp_replicate=(?<dp>\d+), dp_shard=1\b]] },
  { name = "mesh of one dimension", has = "-D device mesh with ", weight = 3,
    match = [=[1-D device mesh with \['dp\w*'\], \[(?<dp>\d+)\]]=] },
  { name = "mesh of shards and tensors", has = "-D device mesh with ", weight = 3,
    match = [=[2-D device mesh with \['dp\w*', 'tp'\], \[(?<dp>\d+), (?<tp>\d+)\]]=] },
  { name = "mesh of stages and shards", has = "-D device mesh with ", weight = 3,
    match = [=[2-D device mesh with \['pp', 'dp\w*'\], \[(?<pp>\d+), (?<dp>\d+)\]]=] },
  { name = "mesh of three dimensions", has = "-D device mesh with ", weight = 3,
    match = [=[3-D device mesh with \['pp', 'dp\w*', 'tp'\], \[(?<pp>\d+), (?<dp>\d+), (?<tp>\d+)\]]=] },
  { name = "shards", has = "Applied FSDP to the model", set = { fsdp = true } },
  { name = "shards of replicas", has = "Applied HSDP to the model", set = { fsdp = true } },
  { name = "recomputation", has = "activation checkpointing to the model", weight = 3,
    match = [[Applied (?<act_ckpt>full|selective)]] },
  { name = "recomputation of today", has = "activation checkpointing to the model", weight = 3,
    match = [[Applied FullAC]], set = { act_ckpt = "full" } },
  { name = "selective recomputation of today", has = "activation checkpointing to the model", weight = 3,
    match = [[Applied SelectiveAC]], set = { act_ckpt = "selective" } },
  { name = "type", has = "mixed_precision_param", weight = 2,
    match = [[mixed_precision_param['"]?[:=] ?['"](?<dtype>\w+)]] },
  { name = "end", has = "Training completed", finished = true,
    match = [[(?:INFO - |\] ?)Training completed\s*$]] },
}

-- "Building llama3 8B with TransformerModelArgs(dim=4096, n_layers=32, ...)"
for key, target in pairs({ dim = "hidden", n_layers = "layers", n_heads = "heads",
  vocab_size = "vocab", num_experts = "more_experts" }) do
  lines[#lines + 1] = { name = "model's " .. key, has = "Building ", weight = 3,
    match = [[\bwith \w*(?:ModelArgs|Config)\(.*?\b]] .. key .. "=(?<" .. target .. [[>\d+)]] }
end

return { framework = "torchtitan", lines = lines }
