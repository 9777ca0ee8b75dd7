-- MaxText. Steps are counted from 0, and JAX compiles in the first one.

local lines = {
  { name = "step", has = "completed step: ", kind = "step", weight = 8,
    match = [[completed step: (?<step>\d+), seconds: (?<step_seconds>[\d.]+), TFLOP/s(?:/device)?: (?<tflops>[\d.]+)]]
      .. [[(?:, Tokens/s/device: (?<tokens_per_second_per_gpu>[\d.]+))?(?:.*?\bloss: (?<loss>[-+\w.]+))?]] },
  { name = "program", has = "axText/train.py", weight = 2 },
  { name = "size", has = "number parameters: ", weight = 3, scale = { params = 1e9 },
    match = [[number parameters: (?<params>[\d.]+) billion]] },
  { name = "devices", has = "Num_devices: ", begins_run = true, weight = 3,
    match = [[Num_devices: (?<gpus>\d+)]] },
}

-- "Config param base_num_decoder_layers: 32"
for key, target in pairs({ base_num_decoder_layers = "layers", base_emb_dim = "hidden",
  base_num_query_heads = "heads", vocab_size = "vocab", max_target_length = "seq",
  global_batch_size_to_train_on = "gbs", micro_batch_size_to_train_on = "more_micro_batch_of_all",
  steps = "steps_planned", dtype = "dtype", remat_policy = "act_ckpt" }) do
  lines[#lines + 1] = { name = key, has = "Config param " .. key .. ": ", weight = 3,
    match = [[Config param ]] .. key .. [[: (?<]] .. target .. [[>[\w.]+)]] }
end

return { framework = "maxtext", lines = lines }
