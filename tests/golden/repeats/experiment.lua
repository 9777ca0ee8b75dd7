-- The first of each is the run itself: its id is as without repeats.
return experiment {
  name = "repeats",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  batch = { global_batch = 64 },
  repeats = 3,
  strategies = { fsdp {} },
}
