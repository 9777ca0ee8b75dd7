-- The expectations of an experiment, with a mistake in each entry but the first.
return experiment {
  name = "bad_expect",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  strategies = { ddp {} },
  expect = {
    { tokens_per_second = { value = 68000, below = 0.05 }, where = "strategy=ddp" },
    { tokens_per_secnd = { value = 68000, below = 0.05 } },
    { step_seconds = { value = 1.5 } },
    { step_seconds = { above = 0.1 } },
    { step_seconds = { value = "fast", above = 0.1 } },
    { peak_memory_bytes = { value = 1e9, above = 0.1, belw = 0.1 } },
    { last_loss = { value = 2, below = 5 } },
    { gpu_hours = 3, where = 7 },
    "much",
  },
}
