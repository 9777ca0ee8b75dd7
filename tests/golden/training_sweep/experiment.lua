-- Lists in training sweep like others, and are in the names of the runs.
return experiment {
  name = "training_sweep",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  batch = { global_batch = 64 },
  training = { seed = { 1, 2 }, learning_rate = { 1e-4, 2e-4 }, clip = 0.5 },
  strategies = { fsdp {} },
}
