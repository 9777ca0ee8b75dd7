-- Fields at the top or in a section that belong in another one; phases without a ramp-up.
return experiment {
  name = "misplaced",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  batch = { global_batch = 64, seq = 4096, nodes = 2, rampup = { start = 8, step = 8, samples = 1000, phases = 9 } },
  tokens = 1e9,
  phases = 9,
  micro_batch = 4,
  nodes = 2,
  account = "abc",
  learning_rate = 1e-4,
  gpu_hours = 100,
  tensor_parallel = 2,
  fases = 9,
  vocab = 50257,
  strategies = { megatron {} },
}
