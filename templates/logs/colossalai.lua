-- ColossalAI: its GPT with Gemini, "[3/10] Loss:10.8, Step time: 1.234s, TFLOPS: 120.5, …", and the benchmark of its
-- examples, which prints its result at the end.

return {
  framework = "colossalai",
  lines = {
    { name = "step", has = ", Step time: ", kind = "step", weight = 8,
      match = [[\[(?<step>\d+)/(?<steps_planned>\d+)\] Loss: ?(?<loss>[-+\w.]+), Step time: (?<step_seconds>[\d.]+)s]]
        .. [[(?:, TFLOPS: (?<tflops>[\d.]+))?]] },
    { name = "result", has = "TFLOPS per GPU by Megatron: ", weight = 3,
      match = [[Throughput: (?<train_samples_per_second>[\d.]+) samples/sec, TFLOPS per GPU by Megatron: (?<tflops>[\d.]+)]] },
    { name = "world", has = "dp_world_size: ", weight = 3, match = [[\bdp_world_size: (?<dp>\d+)]] },
    { name = "size", has = "Model params: ", weight = 1,
      match = [[^(?:.*\s)?Model params: (?<params>[\d.]+ ?[KMB])\b]] },
    { name = "memory", has = "ax CUDA memory usage: ", kind = "memory", scale = { max_allocated = 2 ^ 20 },
      match = [[[Mm]ax CUDA memory usage: (?<max_allocated>[\d.]+) MB]] },
  },
}
