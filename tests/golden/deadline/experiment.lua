-- Begins on a day, loses a tenth of the time to failures, and must be done by another day.
return experiment {
  name = "deadline",
  start = "2026-12-01",
  availability = 0.9,
  model = "gpt-104b",
  hardware = { cluster = "dgx-a100", nodes = 16 },
  batch = { global_batch = 2048, rampup = { start = 256, step = 256, samples = 9765625, fewer_nodes = true } },
  tokens = 100e9,
  budget = { gpu_hours = 1e6, deadline = "2027-03-01" },
  strategies = { megatron { tensor_parallel = 8, pipeline_parallel = 4, micro_batch = { 1, 4 } } },
}
