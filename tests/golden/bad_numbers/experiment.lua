local nan, inf = 0 / 0, 1 / 0
return experiment {
  model = gpt { layers = -24, hidden = 1e300, heads = 0, vocab = nan, seq = inf },
  hardware = { cluster = "dgx-a100", gpus = { -8, 0, 1e12 }, nodes = -1 },
  batch = { global_batch = -inf, micro_batch = 2.5, accumulate = math.maxinteger, data_parallel = math.mininteger, rampup = { start = nan, step = inf, samples = 1e30 } },
  tokens = -300e9,
  steps = inf,
  budget = { gpu_hours = nan, deadline_days = inf, reserve_nodes = -4 },
  strategies = { megatron { tensor_parallel = { 0, nan }, pipeline_parallel = -1 }, ddp { bucket_mb = nan } },
}
