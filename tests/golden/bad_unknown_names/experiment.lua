-- One typo in every section.
return experiment {
  nmae = "typo",
  model = gpt { layer = 24, layers = 24, hidden = 2048, heads = 16, vocab = 50257, seq = 2048 },
  hardware = { cluster = "dgx-a100", gpu = 8, gpus = 8, acount = "abc" },
  batch = { globalbatch = 64, rampup = { strat = 8, start = 8, step = 8, samples = 100 } },
  budget = { gpu_hour = 100 },
  strategies = {
    megatron { tensor_paralel = 8, recompute = "ful" },
    ddp { compression = powersgd { rnk = 4 } },
    zip { tensor_parallel = { 1, 2 } },
  },
}
