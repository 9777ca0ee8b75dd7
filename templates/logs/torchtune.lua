-- torchtune: a progress bar labelled "epoch|step|Loss: …", and a file of metrics.

local GB = 2 ^ 30

return {
  framework = "torchtune",
  lines = {
    { name = "program", has = "torchtune/recipes/", weight = 2 },
    { name = "start", has = "with resolved config:", begins_run = true, weight = 3,
      match = [[Running (?<more_recipe>\w*Recipe\w*) with resolved config:]] },
    { name = "loss of the bar", has = "|Loss: ", kind = "loss", weight = 2,
      match = [[^\d+\|(?<step>\d+)\|Loss: (?<loss>[-+\w.]+?):?\s]] },
    { name = "bar", has = "|Loss: ", kind = "bar",
      match = [=[^\d+\|\d+\|Loss: \S+\s+\d+%\|[^|]*\|\s*(?<bar_step>\d+)/(?<bar_total>\d+) ]=]
        .. [=[\[(?<bar_elapsed>[\d:]+)<[^,\]]*,\s*(?:(?<bar_seconds>[\d.]+)s/it|(?<bar_rate>[\d.]+)it/s)]=] },
    { name = "line of metrics", has = "tokens_per_second_per_gpu:", kind = "step", weight = 8,
      scale = { max_reserved = GB },
      match = [[^Step (?<step>\d+) \| .*?\bloss:(?<loss>[-+\w.]+).*?tokens_per_second_per_gpu:(?<tokens_per_second_per_gpu>[\d.]+)]]
        .. [[(?:.*?peak_memory_reserved:(?<max_reserved>[\d.]+))?]] },
    { name = "epochs", has = "epochs: ", weight = 1, own = true, match = [[^epochs: (?<epochs>\d+)\s*$]] },
    { name = "micro-batch", has = "batch_size: ", weight = 1, own = true, match = [[^batch_size: (?<mbs>\d+)\s*$]] },
    { name = "accumulation", has = "gradient_accumulation_steps: ", weight = 1, own = true,
      match = [[^gradient_accumulation_steps: (?<gas>\d+)\s*$]] },
    { name = "type", has = "dtype: ", weight = 1, own = true, match = [[^dtype: (?<dtype>bf16|fp16|fp32)\s*$]] },
    { name = "recomputation", has = "enable_activation_checkpointing: ", weight = 1, own = true,
      match = [[^enable_activation_checkpointing: (?<act_ckpt>\w+)\s*$]] },
    { name = "FSDP", has = "FSDP is enabled", weight = 2, set = { fsdp = true } },
  },
}
