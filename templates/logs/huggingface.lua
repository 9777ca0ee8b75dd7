-- Hugging Face's Trainer: its dictionaries, its summary, its progress bars.

-- "  6%|▋         | 1/16 [00:58<14:41, 58.76s/it]", also after "Epoch 0:" and "Steps:" of other
-- programs; not after the titles of loading or evaluation.
local bar = [=[(?:^|\]|\b(?:Epoch|Training|Train|Steps?)[ \d/]*:)\s*\d+%\|[^|]*\|\s*]=]
  .. [=[(?<bar_step>\d+)/(?<bar_total>\d+) \[(?<bar_elapsed>[\d:]+)<[^,\]]*,\s*]=]

return {
  framework = "huggingface",

  lines = {
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

    { name = "loss", has = "'loss':", kind = "loss", weight = 1,
      match = [=[\{[^{}]*'loss': '?(?<loss>[-+\w.]+)'?[^{}]*?(?:'epoch': '?(?<epoch>[-\d.e+]+)'?[^{}]*)?\}]=] },
    { name = "loss in JSON", has = [["loss":]], kind = "loss", weight = 1,
      match = [=[\{[^{}]*"loss": "?(?<loss>[-+\w.]+)"?[^{}]*"epoch": "?(?<epoch>[-\d.e+]+)"?[^{}]*\}]=] },
    { name = "end", has = "train_runtime", finished = true, match = [=[['"]train_runtime['"]: ['"]?(?<train_runtime>[-\d.e+]+)]=]
      .. [=[(?:[^{}]*['"]train_samples_per_second['"]: ['"]?(?<train_samples_per_second>[-\d.e+]+))?]=]
      .. [=[(?:[^{}]*['"]train_steps_per_second['"]: ['"]?(?<train_steps_per_second>[-\d.e+]+))?]=]
      .. [=[(?:[^{}]*['"]train_loss['"]: ['"]?(?<train_loss>[-+\w.]+))?]=] },
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
    { name = "FSDP", has = "FullyShardedDataParallel", set = { fsdp = true } },
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

    -- A model's configuration.
    { name = "layers", has = [["num_hidden_layers":]], match = [["num_hidden_layers": (?<layers>\d+)]] },
    { name = "layers of GPT-2", has = [["n_layer":]], match = [["n_layer": (?<layers>\d+)]] },
    { name = "width", has = [["hidden_size":]], match = [["hidden_size": (?<hidden>\d+)]] },
    { name = "width of GPT-2", has = [["n_embd":]], match = [["n_embd": (?<hidden>\d+)]] },
    { name = "heads", has = [["num_attention_heads":]], match = [["num_attention_heads": (?<heads>\d+)]] },
    { name = "heads of GPT-2", has = [["n_head":]], match = [["n_head": (?<heads>\d+)]] },
    { name = "vocabulary", has = [["vocab_size":]], match = [["vocab_size": (?<vocab>\d+)]] },
    { name = "type", has = [["torch_dtype":]], match = [["torch_dtype": "(?<dtype>\w+)"]], weight = 0 },
  },
}
