-- A model for a laptop, trained for real: what each strategy does to loss, time, memory and traffic,
-- measured beside estimated. All runs see the same samples: a step is 16 of them everywhere.
return experiment {
  name = "tiny",
  doc = "gpt-tiny on two and four CPU ranks of this machine",
  model = "gpt-tiny",
  hardware = { cluster = "local", gpus = 2 },
  batch = { global_batch = 16, micro_batch = 8 },
  tokens = 1e6,
  steps = 25,
  training = { learning_rate = 1e-3, min_learning_rate = 1e-4, warmup_steps = 5, seed = 1 },
  strategies = {
    ddp { dtype = "fp32" },
    ddp { dtype = "fp32", gpus = 4, micro_batch = 4 },
    ddp { dtype = "fp32", micro_batch = 2 },  -- and so accumulates over 4
    ddp { dtype = "fp32", compression = powersgd { rank = 2 } },
    ddp { dtype = "fp32", optimizer = "adafactor", recompute = "full" },
  },
}
