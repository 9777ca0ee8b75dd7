-- A list of models is a sweep too: presets and user-defined sizes.
return experiment {
  name = "several_models",
  model = {
    "gpt-1.3b",
    bloom { name = "my-bloom", layers = 24, hidden = 2048, heads = 16, vocab = 250880, seq = 2048 },
    gpt { layers = 36, hidden = 2560, heads = 20, vocab = 50257, seq = 2048 },
  },
  hardware = { cluster = "dgx-a100", gpus = 8 },
  batch = { global_batch = 64 },
  strategies = { fsdp {}, zero3 {} },
}
