return experiment {
  name = "over_budget",
  model = "gpt-104b",
  hardware = { cluster = "dgx-a100", nodes = 16 },
  batch = { global_batch = 2048 },
  tokens = 300e9,
  budget = { gpu_hours = 1000, deadline_days = 30, reserve_nodes = 2 },
  strategies = { megatron { tensor_parallel = 8, pipeline_parallel = 4, micro_batch = 1 } },
}
