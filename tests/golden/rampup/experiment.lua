-- 1,792 samples from 256 in steps of 64, on all nodes from the start: one job.
return experiment {
  name = "rampup",
  model = "gpt-104b",
  hardware = { cluster = "dgx-a100", nodes = 16, account = "abc@a100", time = "20:00:00" },
  batch = { global_batch = 2048, rampup = { start = 256, step = 64, samples = 9765625 } },
  tokens = 300e9,
  strategies = { megatron { tensor_parallel = 8, pipeline_parallel = 4, micro_batch = { 1, 4 } } },
}
