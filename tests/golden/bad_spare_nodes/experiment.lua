-- Spare nodes are an integer from 0 up.
return experiment {
  name = "bad_spare_nodes",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 4, account = "abc@a100", spare_nodes = -1 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  strategies = { megatron { tensor_parallel = 1, pipeline_parallel = 1, micro_batch = 1 } },
}
