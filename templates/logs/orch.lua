-- The trainers of orch itself. They print their steps as Megatron-LM does, and megatron.lua reads those; cuda.lua
-- knows GPUs by their names.

local lines = {
  { name = "start", has = "orch run | strategy: ", begins_run = true, weight = 10,
    match = [[\borch run \| strategy: (?<framework>\w+) \| ranks: (?<gpus>\d+) \| device: [^|]+ ]]
      .. [[\| layers: (?<layers>\d+) \| hidden: (?<hidden>\d+) \| heads: (?<heads>\d+) \| seq: (?<seq>\d+) ]]
      .. [[\| vocab: (?<vocab>\d+) \| parameters: (?<params>\d+) \| micro_batch: (?<mbs>\d+) ]]
      .. [[\| global_batch: (?<gbs>\d+)]] },
}

for key, target in pairs({ tensor_parallel = "tp", pipeline_parallel = "pp", context_parallel = "cp",
  data_parallel = "dp", interleave = "interleave", sequence_parallel = "sequence_parallel",
  stage = "zero_stage", zero_stage = "zero_stage", dtype = "dtype", optimizer = "optimizer",
  recompute = "act_ckpt", compression = "grad_compression" }) do
  lines[#lines + 1] = { name = key, has = "| " .. key .. ": ", weight = 10,
    match = [[\borch run \| .*\| ]] .. key .. ": (?<" .. target .. [=[>[^ |]+)]=] }
end

for strategy, trainer in pairs({ ddp = "ddp", megatron = "megatron", zero3 = "zero3", fsdp = "zero3",
  deepspeed = "zero3" }) do
  lines[#lines + 1] = { name = "trainer of " .. strategy, has = "orch run | strategy: " .. strategy .. " ",
    match = [[\| device: (?!cpu )]], set = { more_stack = "orch-" .. trainer } }  -- fitted on GPUs
end

return { framework = "orch", lines = lines }
