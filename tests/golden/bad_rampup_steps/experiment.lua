return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  batch = { global_batch = 1000000000, rampup = { start = 8, step = 8, samples = 1000000 } },
  strategies = { ddp {} },
}
