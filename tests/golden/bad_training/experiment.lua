-- Wrong names, types and values in training, all at once.
return experiment {
  name = "bad_training",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  training = {
    learning_rat = 2e-4,
    learning_rate = "fast",
    schedule = "cosin",
    warmup_steps = 1.5,
    beta1 = 2,
    seed = { 1, "x", { 2 } },
    data = 7,
    log_every = 0,
    tensorboard = 1,
    clip = function() return 1 end,
    0.5,
  },
  strategies = { ddp {} },
}
