-- A model for a laptop: what the strategies cost on this machine's CPU with four ranks.
return experiment {
  name = "tiny",
  doc = "gpt-tiny on four CPU ranks of this machine",
  model = "gpt-tiny",
  hardware = { cluster = "local", gpus = { 2, 4 } },
  batch = { micro_batch = 4 },
  tokens = 1e6,
  steps = 50,
  strategies = {
    ddp { dtype = "fp32" },
    ddp { dtype = "fp32", accumulate = 4 },
    ddp { dtype = "fp32", compression = powersgd { rank = 2 } },
    ddp { dtype = "fp32", optimizer = "adafactor", recompute = "full" },
  },
}
