-- nanotron. It rounds printed values to three digits: 4.71K.

local lines = {
  { name = "start", has = "[Start training] datetime: ", begins_run = true, weight = 4,
    match = [[mbs: (?<mbs>\d+) \| grad_accum: (?<gas>\d+) \| global_batch_size: (?<gbs>\d+) \| ]]
      .. [[sequence_length: (?<seq>\d+) \| train_steps: (?<steps_planned>\d+)]] },
  { name = "program", has = "nanotron/trainer.py", weight = 2 },
  { name = "size", has = "Total number of parameters: ",
    match = [[Total number of parameters: (?<params>[\d.]+[KMGBT]?) \(]] },
  { name = "layout", has = "ParallelismArgs(", weight = 3, opens = "parallelism",
    match = [[ParallelismArgs\(dp=(?<dp>\d+)]] },
  { name = "layout on one line", has = "ParallelismArgs(", weight = 3,
    match = [[ParallelismArgs\(dp=\d+, *pp=(?<pp>\d+), *tp=(?<tp>\d+)]] },
  { name = "stages", has = "pp=", within = "parallelism", weight = 3, match = [[\bpp=(?<pp>\d+)]] },
  { name = "tensors", has = "tp=", within = "parallelism", weight = 3, match = [[\btp=(?<tp>\d+)]] },
  { name = "ZeRO", has = "zero_stage=", weight = 3, match = [[\bzero_stage=(?<zero_stage>\d)]] },
  { name = "recomputation", has = "recompute_layer=True", set = { act_ckpt = "full" } },
  { name = "sequences of tensors", has = "REDUCE_SCATTER", match = [[tp_mode=]],
    set = { sequence_parallel = true } },
  { name = "type", has = "dtype=torch.", match = [[\bdtype=(?<dtype>torch\.\w+)]] },
}

for key, target in pairs({ hidden_size = "hidden", num_hidden_layers = "layers",
  num_attention_heads = "heads", vocab_size = "vocab" }) do
  lines[#lines + 1] = { name = key, has = key .. "=",
    match = [=[[ (]]=] .. key .. "=(?<" .. target .. [=[>\d+)[,)]]=] }
end

return {
  framework = "nanotron",
  fields = {
    { name = "iteration", kind = "step", weight = 8, begins = "iteration: {step} / {steps_planned}",
      keys = {
        elapsed_time_per_iteration_ms = { "step_seconds", scale = 1e-3 },
        time_per_iteration_ms = { "step_seconds", scale = 1e-3 },
        tokens_per_sec = "tokens_per_second",
        tokens_per_sec_per_gpu = "tokens_per_second_per_gpu",
        global_batch_size = "gbs",
        lm_loss = "loss",
        model_tflops_per_gpu = "tflops",
        cuda_max_memory_reserved = "max_reserved",
      } },
  },
  lines = lines,
}
