-- OLMo and OLMo-core: a line per step, with its values below.

local MB = 2 ^ 20

return {
  framework = "olmo",
  lines = {
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
  },
}
