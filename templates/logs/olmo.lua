-- OLMo and OLMo-core: a line per step, with its values below.

local MB = 2 ^ 20

local lines = {
  { name = "step", has = "[step=", kind = "step", weight = 8,
    match = [=[\[step=(?<step>[\d,]+)/(?<steps_planned>\d+)(?:\]|,)]=],
    below = {
      ["train/CrossEntropyLoss"] = "loss",
      ["train/CE loss"] = "loss",
      ["throughput/total_tokens"] = "tokens",
      ["throughput/total tokens"] = "tokens",
      ["throughput/device/tokens_per_second"] = "tokens_per_second_per_gpu",
      ["throughput/device/batches_per_second"] = "steps_per_second",
      ["throughput/device/TPS"] = "tokens_per_second_per_gpu",
      ["throughput/device/BPS"] = "steps_per_second",
      ["System/Peak GPU Memory (MB)"] = { "max_allocated", scale = MB },
    } },
  { name = "size", has = "Total number of parameters: ",
    match = [[Total number of parameters: (?<params>\d[\d,]*)\s*$]] },
  { name = "size of OLMo-core", has = "total params",
    match = [[(?<params>\d[\d,]+) total params]] },
  { name = "world", has = "torchrun", weight = 1, match = [[--nproc[-_]per[-_]node[= ](?<gpus_per_node>\d+)]] },
  { name = "end", has = "Training complete", finished = true, match = [[Training complete\s*$]] },
}

-- "TrainConfig(run_name='…', model=ModelConfig(d_model=2048, n_heads=16, …), …, global_train_batch_size=2048, …)", in
-- one line or wrapped.
for key, target in pairs({ d_model = "hidden", n_heads = "heads", n_layers = "layers", vocab_size = "vocab",
  max_sequence_length = "seq", global_train_batch_size = "gbs", device_train_microbatch_size = "mbs" }) do
  lines[#lines + 1] = { name = key, has = key .. "=", weight = 1,
    match = [[(?:^|[\s(])]] .. key .. [[=(?<]] .. target .. [[>\d+)(?:,|\)|$)]] }
end
lines[#lines + 1] = { name = "configuration", has = "TrainConfig(", begins_run = true, weight = 3,
  match = [[\bTrainConfig\(]] }
lines[#lines + 1] = { name = "precision", has = "precision='amp_", weight = 1, match = [[precision='amp_(?<dtype>\w+)']] }
lines[#lines + 1] = { name = "shards", has = "fsdp=FSDPConfig(", weight = 1, set = { fsdp = true } }

return { framework = "olmo", lines = lines }
