-- llm.c: train_gpt2.cu, and the fp32 version.

local lines = {
  { name = "step", has = " tok/s", kind = "step", weight = 8, scale = { step_seconds = 1e-3 },
    match = [[^step +(?<step>\d+)/(?<steps_planned>\d+) \| (?:train )?loss (?<loss>[-+\w.]+).*?\| (?<step_seconds>[\d.]+) ms.*?(?<tokens_per_second>\d+) tok/s]] },
  { name = "step of old", has = " ms (", kind = "step", weight = 8, scale = { step_seconds = 1e-3 },
    match = [[^step +(?<step>\d+)/(?<steps_planned>\d+): train loss (?<loss>[-+\w.]+).*?\((?<step_seconds>[\d.]+) ms, (?<tokens_per_second>\d+) tok/s\)]] },
  { name = "batch", has = "batch_size B=", begins_run = true, weight = 4,
    match = [[batch_size B=(?<mbs>\d+) \* seq_len T=(?<seq>\d+) \* num_processes=(?<gpus>\d+) and total_batch_size=(?<batch_tokens>\d+)]] },
  { name = "accumulation", has = "setting grad_accum_steps=", weight = 4,
    match = [[grad_accum_steps=(?<gas>\d+)]] },
  { name = "size", has = "num_parameters: ", weight = 3, match = [[num_parameters: (?<params>\d+) =]] },
  { name = "average", has = "total average iteration time", finished = true },
}

-- "| num_layers L          | 12        |"
for key, target in pairs({ ["num_layers L"] = "layers", ["num_heads NH"] = "heads",
  ["channels C"] = "hidden", ["vocab_size V"] = "vocab", ["padded_vocab_size Vp"] = "vocab_padded",
  num_processes = "gpus", zero_stage = "zero_stage", ["sequence length T"] = "seq",
  ["micro batch size B"] = "mbs", ["total batch size"] = "batch_tokens" }) do
  lines[#lines + 1] = { name = key, has = "| " .. key .. " ", weight = 3,
    match = [[^\| ]] .. key .. [[ +\| (?<]] .. target .. [[>\d+) ]] }
end
for key, target in pairs({ precision = "dtype", device = "more_device" }) do
  lines[#lines + 1] = { name = key, has = "| " .. key .. "  ", weight = 3,
    match = [[^\| ]] .. key .. [[ +\| (?<]] .. target .. [[>\S.*?)\s+\|]] }
end

return { framework = "llm.c", lines = lines }
