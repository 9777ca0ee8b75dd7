-- Hugging Face's Trainer: its dictionaries, its summary, its progress bars.

-- "  6%|▋         | 1/16 [00:58<14:41, 58.76s/it]", also after "Epoch 0:" and "Steps:" of other
-- programs; not after the titles of loading or evaluation.
local bar = [=[(?:^|\]|\b(?:Epoch|Training|Train|Steps?)[ \d/]*:)\s*\d+%\|[^|]*\|\s*]=]
  .. [=[(?<bar_step>\d+)/(?<bar_total>\d+) \[(?<bar_elapsed>[\d:]+)<[^,\]]*,\s*]=]

-- A multimodal model is described by its language model: these objects of its configuration do not count.
local other_parts = { "vision_config", "audio_config", "speech_config", "image_config", "video_config",
  "vision_tower", "talker_config", "code2wav_config", "quantization_config", "projector_config", "qformer_config",
  "aligner_config", "perceiver_config", "encoder_config" }

local lines = {
  { name = "program", has = "transformers/trainer.py", weight = 2, match = [[^\s*File ]] },
  { name = "start", has = "***** Running training *****", begins_run = true,
    match = [[(?:(?<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\S* >> )?\*{5} Running training]] },
  { name = "examples", has = "Num examples = ", match = [[Num examples = (?<examples>[\d,]+)]] },
  { name = "epochs", has = "Num Epochs = ", match = [[Num Epochs = (?<epochs>[\d,]+)]] },
  { name = "micro-batch", has = "Instantaneous batch size per", weight = 3,
    match = [[Instantaneous batch size per (?:device|GPU) = (?<mbs>[\d,]+)]] },
  { name = "batch", has = "Total train batch size (w. parallel", weight = 3,
    match = [[Total train batch size \(w\. parallel, distributed & accumulation\) = (?<gbs>[\d,]+)]] },
  { name = "accumulation", has = "Gradient Accumulation steps = ", weight = 3,
    match = [[Gradient Accumulation steps = (?<gas>[\d,]+)]] },
  { name = "steps", has = "Total optimization steps = ", weight = 3,
    match = [[Total optimization steps = (?<steps_planned>[\d,]+)]] },
  { name = "parameters", has = "Number of trainable parameters = ", weight = 2,
    match = [[Number of trainable parameters = (?<params>[1-9][\d,]*)]] },

  { name = "parameters with LoRA", has = "|| all params: ", weight = 3,
    match = [[trainable params: (?<more_trainable_params>[\d,]+) \|\| all params: (?<params>[\d,]+)]] },

  -- MS-Swift prints the number of parameters, which has priority over the configuration.
  { name = "parameters of MS-Swift", has = "M Params (", weight = 4, scale = { params = 1e6 },
    match = [[: (?<params>[\d.]+)M Params \([\d.]+M Trainable]] },
  { name = "ranks of MS-Swift", has = "local_rank: ", weight = 3,
    match = [[\brank: -?\d+, local_rank: -?\d+, world_size: (?<gpus>\d+)(?:, local_world_size: (?<gpus_per_node>\d+))?]] },
  { name = "ranks of LLaMA-Factory", has = "Process rank: ", weight = 3,
    match = [[Process rank: \d+, world size: (?<gpus>\d+)(?:.*compute dtype: torch\.(?<dtype>\w+))?]] },

  -- Dictionaries with a step are entries of log_history, which repeats all of them at the end.
  { name = "loss", has = "'loss':", kind = "loss", weight = 1, without = { "log_history" },
    match = [=[\{(?![^{}]*'step':)[^{}]*'loss': '?(?<loss>[-+\w.]+)'?[^{}]*?(?:'epoch': '?(?<epoch>[-\d.e+]+)'?[^{}]*)?\}]=] },
  { name = "loss in JSON", has = [["loss":]], kind = "loss", weight = 1, without = { "log_history" },
    match = [=[\{(?![^{}]*"step":)[^{}]*"loss": "?(?<loss>[-+\w.]+)"?[^{}]*"epoch": "?(?<epoch>[-\d.e+]+)"?[^{}]*\}]=] },
  { name = "end", has = "train_runtime", finished = true, match = [=[['"]train_runtime['"]: ['"]?(?<train_runtime>[-\d.e+]+)]=]
    .. [=[(?:[^{}]*['"]train_samples_per_second['"]: ['"]?(?<train_samples_per_second>[-\d.e+]+))?]=]
    .. [=[(?:[^{}]*['"]train_steps_per_second['"]: ['"]?(?<train_steps_per_second>[-\d.e+]+))?]=]
    .. [=[(?:[^{}]*['"]train_tokens_per_second['"]: ['"]?(?<train_tokens_per_second>[-\d.e+]+))?]=]
    .. [=[(?:[^{}]*['"]train_loss['"]: ['"]?(?<train_loss>[-+\w.]+))?]=]
    .. [=[(?:[^{}]*['"]epoch['"]: ['"]?(?<train_epoch>[\d.e+-]+))?]=] },
  { name = "metrics", has = "***** train metrics *****", finished = true },
  { name = "metrics: samples", has = "train_samples_per_second ",
    match = [[train_samples_per_second += +(?<train_samples_per_second>[\d.]+)]] },
  { name = "metrics: steps", has = "train_steps_per_second ",
    match = [[train_steps_per_second += +(?<train_steps_per_second>[\d.]+)]] },
  { name = "metrics: loss", has = "train_loss ", match = [[train_loss += +(?<train_loss>[-+\w.]+)]] },
  { name = "training completed", has = "Training completed. Do not forget to share", finished = true },
  { name = "saved", has = "Saving model checkpoint to ", match = [[checkpoint-(?<saved_step>\d+)]] },
  { name = "resumed", has = "Continuing training from global step",
    match = [[Continuing training from global step (?<resume_step>\d+)]] },
  -- A printed module, or a sentence; not the import or the traceback of a program that may not use it.
  { name = "FSDP", has = "FullyShardedDataParallel", set = { fsdp = true }, without = { "import ", ".py", "isinstance" },
    match = [=[(?:^|[:=] ?)FullyShardedDataParallel\(|\b(?:[Uu]s(?:e|ing)|with|[Ww]rapp\w+) FullyShardedDataParallel]=] },
  { name = "FSDP of the arguments", has = "fsdp", weight = 2, set = { fsdp = true },
    match = [=[\bfsdp['"]?(?:=|: ?| )\[?(?:<FSDPOption\.|['"]?)(?:FULL|SHARD|HYBRID|full_|shard_|hybrid_)]=] },
  { name = "FSDP of accelerate", has = "Distributed environment: ", weight = 2, set = { fsdp = true },
    match = [[Distributed environment: (?:DistributedType\.)?FSDP]] },
  { name = "DDP of accelerate", has = "Distributed environment: ", weight = 2, set = { framework = "ddp" },
    match = [[Distributed environment: (?:DistributedType\.)?MULTI_GPU]] },
  { name = "processes of accelerate", has = "Num processes: ", weight = 3,
    match = [[^Num processes: (?<gpus>\d+)\s*$]] },
  { name = "memory of Gaudi", has = "max_memory_allocated (GB)", kind = "memory",
    scale = { max_allocated = 2 ^ 30 },
    match = [[max_memory_allocated \(GB\)(?:['"]:| +=) *(?<max_allocated>[\d.]+)]] },
  { name = "version", has = [["transformers_version":]],
    match = [["transformers_version": "(?<version_transformers>[^"]+)"]] },
  { name = "bar", has = "s/it", kind = "bar",
    match = bar .. [=[(?<bar_seconds>[\d.]+)s/it]=] },
  { name = "fast bar", has = "it/s", kind = "bar",
    match = bar .. [=[(?<bar_rate>[\d.]+)it/s]=] },

  -- run_clm.py with a new model: the overridden values count, though the file's own values are
  -- printed later.
  { name = "overridden layers", has = "Overriding config: ", weight = 3,
    match = [[\b(?:n_layer|num_hidden_layers)=(?<layers>\d+)]] },
  { name = "overridden width", has = "Overriding config: ", weight = 3,
    match = [[\b(?:n_embd|hidden_size)=(?<hidden>\d+)]] },
  { name = "overridden heads", has = "Overriding config: ", weight = 3,
    match = [[\b(?:n_head|num_attention_heads)=(?<heads>\d+)]] },
  { name = "overridden vocabulary", has = "Overriding config: ", weight = 3,
    match = [[\bvocab_size=(?<vocab>\d+)]] },
  { name = "overridden positions", has = "Overriding config: ", weight = 0, assumed = true,
    match = [[\b(?:n_positions|max_position_embeddings)=(?<seq>\d+)]] },
  { name = "overridden recomputation", has = "Overriding config: ", weight = 2,
    match = [[\bgradient_checkpointing=(?<act_ckpt>\w+)]] },
  { name = "size from scratch", has = "from scratch - Total size=", weight = 2,
    match = [[Total size=(?<params>[\d.]+[KMGB]) params]] },
}

-- A model's configuration, and the arguments of a Trainer, one on a line: "per_device_train_batch_size=4,".
for name, target in pairs({ num_hidden_layers = "layers", n_layer = "layers", hidden_size = "hidden",
  n_embd = "hidden", num_attention_heads = "heads", n_head = "heads", vocab_size = "vocab",
  num_experts = "more_experts", num_local_experts = "more_experts", n_routed_experts = "more_experts" }) do
  lines[#lines + 1] = { name = name, has = [["]] .. name .. [[":]], outside = other_parts,
    match = [["]] .. name .. [[": (?<]] .. target .. [[>\d+)]] }
end
for _, name in ipairs({ "torch_dtype", "dtype" }) do
  lines[#lines + 1] = { name = name, has = [["]] .. name .. [[":]], outside = other_parts, weight = 0,
    match = [["]] .. name .. [[": "(?<dtype>b?float\w+)"]] }
end
for name, target in pairs({ per_device_train_batch_size = "mbs", gradient_accumulation_steps = "gas",
  gradient_checkpointing = "act_ckpt", optim = "optimizer" }) do
  lines[#lines + 1] = { name = "argument " .. name, has = name .. "=", weight = 1,
    match = "^" .. name .. [[=['"]?(?<]] .. target .. [[>\w+)['"]?,$]] }
end
for name, dtype in pairs({ bf16 = "bf16", fp16 = "fp16" }) do
  lines[#lines + 1] = { name = "argument " .. name, has = name .. "=True", weight = 1,
    match = "^" .. name .. "=True,$", set = { dtype = dtype } }
end

return {
  framework = "huggingface",
  lines = lines,
  records = {
    -- Lines of MS-Swift and of LLaMA-Factory's trainer_log.jsonl. Their speeds are means over all steps so
    -- far, so the time of a step is computed from the differences of elapsed_time.
    { name = "line of MS-Swift", form = "json", kind = "step", weight = 3,
      needs = { "global_step/max_steps", "loss" }, without = { "log_history" },
      keys = { ["global_step/max_steps"] = { "step", of = "steps_planned" }, loss = "loss", epoch = "epoch",
               elapsed_time = "time", ["train_speed(s/it)"] = "mean_step_seconds",
               ["memory(GiB)"] = { "max_reserved", scale = 2 ^ 30 } } },
    { name = "line of Megatron-SWIFT", form = "json", kind = "step", weight = 3,
      needs = { "iteration", "train_speed(s/it)" }, without = { "log_history" },
      keys = { iteration = { "step", of = "steps_planned" }, loss = "loss",
               elapsed_time = "time", ["train_speed(s/it)"] = "mean_step_seconds",
               ["memory(GiB)"] = { "max_reserved", scale = 2 ^ 30 } } },
    { name = "line of LLaMA-Factory", form = "json", kind = "step", weight = 3,
      needs = { "current_steps", "total_steps", "loss" },
      keys = { current_steps = "step", total_steps = "steps_planned", loss = "loss", epoch = "epoch",
               elapsed_time = "time", total_tokens = "tokens" } },
    -- Lines of the callback in Liger's examples. Its tokens are those of all processes.
    { name = "line of Liger", form = "json", kind = "step", weight = 3,
      needs = { "step", "step_tokens_per_second" },
      keys = { step = "step", loss = "loss", step_tokens_per_second = "tokens_per_second",
               step_peak_memory_allocated_MB = { "max_allocated", scale = 2 ^ 20 },
               step_peak_memory_reserved_MB = { "max_reserved", scale = 2 ^ 20 } } },
  },
}
