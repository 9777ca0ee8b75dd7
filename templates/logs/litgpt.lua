-- litgpt and lit-gpt ("Epoch 1 | iter 4 step 1 | …", "Ep 1 | iter 4 | step 1: …"): a line per step with the
-- time of its last micro-batch, and metrics.csv of its logger, which counts micro-batches and contains times.

local lines = {
  { name = "step", has = "iter time: ", kind = "step", weight = 8, scale = { micro_seconds = 1e-3 },
    match = [[\biter (?<micro_step>\d+)(?: \|)? step (?<step>\d+)(?::| \|) loss(?: train(?: \(curr\))?:)? (?<loss>[-+\w.]+),]]
      .. [[.*?iter time: (?<micro_seconds>[\d.]+) ?ms \((?:opt(?:imizer)?\.)?step\)]] },
  { name = "start", has = "Time to instantiate model: ", begins_run = true },
  { name = "size", has = "Total parameters: ", weight = 1,
    match = [[^Total parameters: (?<params>[\d,]+)\s*$]] },
  { name = "size of what is trained", has = "Number of trainable parameters: ", weight = 1,
    match = [[^Number of trainable parameters: (?<params>[1-9][\d,]*)\s*$]] },
  { name = "end", has = "Training time: ", finished = true, match = [[^Training time: [\d.]+s\s*$]] },
  { name = "end of today", has = "Training Time  ", finished = true,
    match = [[^\| - Training Time +: +[\d.]+ s]] },
  { name = "memory", has = "Memory used: ", kind = "memory", scale = { max_allocated = 1e9 },
    match = [[^Memory used: (?<max_allocated>[\d.]+) GB]] },
  { name = "memory of today", has = "Memory Used  ", kind = "memory", scale = { max_allocated = 1e9 },
    match = [[^\| - Memory Used +: +(?<max_allocated>[\d.]+) GB]] },
  -- "'devices': 4," in the printed settings; nodes are included since 2024.
  { name = "devices", has = "'devices': ", weight = 1, match = [['devices': (?<gpus_per_node>\d+)]] },
  { name = "a node", has = "'devices': ", weight = 0, assumed = true, match = [['devices': \d]],
    set = { nodes = 1 } },
  { name = "nodes", has = "'num_nodes': ", weight = 1, match = [['num_nodes': (?<nodes>\d+)]] },
  { name = "precision", has = "'precision': ", weight = 1, match = [['precision': '(?<dtype>[\w-]+)']] },
  { name = "model", has = "'model_name': ", weight = 2, match = [['model_name': '(?<more_model_name>[^']+)']] },
  { name = "saved", has = "Saving checkpoint to ", weight = 1, match = [[/step-(?<saved_step>\d+)/]] },
  { name = "resumed", has = "Resuming training from ", weight = 2,
    match = [[Resuming training from \S*step-(?<resume_step>\d+)]] },
}

-- "TrainArgs(global_batch_size=512, …)", in one line or several, a dictionary in older versions;
-- and the model's Config likewise. Other programs print such names too: with weight 1, they
-- identify no framework.
local before = [[(?:^|(?:Args|Config)\(.*?\b|')]]
for key, target in pairs({ global_batch_size = "gbs", micro_batch_size = "mbs", max_seq_length = "seq",
  max_steps = "steps_planned", n_layer = "layers", n_embd = "hidden", n_head = "heads",
  padded_vocab_size = "vocab_padded" }) do
  lines[#lines + 1] = { name = key, has = key, weight = 1,
    match = before .. key .. [['?(?:=|: )(?<]] .. target .. [[>\d+)]] }
end
-- The blocks in DeepSpeed's aio_config are bytes on a disk.
lines[#lines + 1] = { name = "block", has = "block_size", weight = 1,
  match = before .. [[block_size'?(?:=|: )(?<seq>\d++)(?!, 'queue_depth')]] }

return {
  framework = "litgpt",
  lines = lines,
  records = {
    -- The column "step" is the logger's own, and counts micro-batches from 0.
    { name = "metrics", form = "csv", kind = "step", weight = 6,
      needs = { "iter", "iter_time", "remaining_time" },
      keys = { iter = "micro_step", loss = "loss", iter_time = "micro_seconds", time = "time",
               total_tokens = "tokens", epoch = "epoch" } },
  },
}
