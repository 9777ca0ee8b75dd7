-- The small batch at the beginning trains on two nodes, the rest on four: two jobs.
return experiment {
  name = "rampup_fewer_nodes",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 4, account = "abc@a100" },
  batch = { global_batch = 64, rampup = { start = 16, step = 48, samples = 1000000, fewer_nodes = true } },
  tokens = 300e9,
  strategies = { megatron { tensor_parallel = 1, pipeline_parallel = 1, micro_batch = 1 } },
}
