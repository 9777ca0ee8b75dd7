-- Composer and LLM Foundry: a line for each batch, with its values below; the settings as YAML.

local lines = {
  { name = "batch", has = "[batch=", kind = "step", weight = 8,
    match = [[\[batch=(?<step>\d+)(?:/(?<steps_planned>\d+))?\]:?]],
    below = {
      ["Train loss/train/total"] = "loss",
      ["Train time/sample"] = "samples",
      ["Train time/token"] = "tokens",
      ["Train trainer/device_train_microbatch_size"] = "mbs",
      ["Train throughput/batches_per_sec"] = "more_batches_per_second",
      ["Train throughput/samples_per_sec"] = "samples_per_second",
      ["Train throughput/device/samples_per_sec"] = "samples_per_second_per_gpu",
      ["Train throughput/tokens_per_sec"] = "tokens_per_second",
      ["Train throughput/device/tokens_per_sec"] = "tokens_per_second_per_gpu",
      ["Train memory/peak_reserved_mem"] = { "max_reserved", scale = 1e9 },
      ["Train memory/peak_allocated_mem"] = { "max_allocated", scale = 1e9 },
    } },
  { name = "shards", has = "fsdp_config:", weight = 1, match = [[^\s*fsdp_config:]], set = { fsdp = true } },
  { name = "start", has = "Starting training...", begins_run = true },
}

for key, target in pairs({ max_seq_len = "seq", n_layers = "layers", d_model = "hidden",
  n_heads = "heads", vocab_size = "vocab", global_train_batch_size = "gbs", n_params = "params",
  n_gpus = "gpus" }) do
  lines[#lines + 1] = { name = key, has = key .. ": ",
    match = [[^\s*]] .. key .. [[: (?<]] .. target .. [[>\d+)\s*$]] }
end
lines[#lines + 1] = { name = "precision", has = "precision: ",
  match = [[^\s*precision: amp_(?<dtype>\w+)\s*$]] }

return { framework = "composer", lines = lines }
