return experiment {
  model = gpt { layers = "24", hidden = true, heads = {}, vocab = 50257.5, seq = { { 1 } } },
  hardware = { cluster = 5, gpus = "eight", account = 7, time = 20, environment = { A = {}, B = true, ["1C"] = "x" }, options = { 1, "exclusive" } },
  batch = { global_batch = {}, micro_batch = { 1, nil, 3 }, rampup = { start = "low", step = -1, samples = 1.5, fewer_nodes = 1 } },
  budget = { gpu_hours = "3M", deadline_days = -5, reserve_nodes = 0.5 },
  strategies = { megatron { tensor_parallel = "8", recompute = true, sequence_parallel = 1, zero_stage = 4 }, 5, gpt { layers = 1 } },
  constraints = { ["a"] = true, function(r) return true end },
}
