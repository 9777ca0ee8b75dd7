-- PyTorch with our own driver, and our own trainer: one file, two programs.
return experiment {
  name = "framework_torch",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 2 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  strategies = {
    ddp { micro_batch = 2 },
    ddp { micro_batch = 2, compression = powersgd { rank = 4 }, framework = "torch" },
  },
}
