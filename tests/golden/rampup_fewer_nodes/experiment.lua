-- Small batches train on fewer nodes: one job per number of nodes.
return experiment {
  name = "rampup_fewer_nodes",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 8, account = "abc@a100" },
  batch = { global_batch = 512, rampup = { start = 32, step = 32, samples = 1000000, fewer_nodes = true } },
  tokens = 300e9,
  strategies = { megatron { tensor_parallel = 1, pipeline_parallel = 1, micro_batch = 2 } },
}
