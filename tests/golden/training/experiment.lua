-- The section training, in run.json with every default filled in. The data is on the cluster only.
return experiment {
  name = "training",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  batch = { global_batch = 64 },
  tokens = 1e9,
  steps = 2000,
  training = {
    learning_rate = 2e-4, min_learning_rate = 2e-5, schedule = "linear", warmup_steps = 100,
    weight_decay = 0, clip = 2, seed = 7, data = "/no/such/corpus", evaluate_every = 500,
    tensorboard = false,
  },
  strategies = { ddp { micro_batch = 1 } },
}
