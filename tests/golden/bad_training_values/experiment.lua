-- Each value is valid, but they contradict each other.
return experiment {
  name = "bad_training_values",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  training = {
    learning_rate = 1e-5, min_learning_rate = 3e-5,
    warmup_steps = 200, decay_steps = 100,
    dropout = 1,
    split = "1,0,0", evaluate_every = 10,
  },
  strategies = { ddp {} },
}
