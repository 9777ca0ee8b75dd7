return experiment {
  model = "gpt-1.4b",
  hardware = { cluster = "dgx-a100", gpus = -8 },
  batch = { global_bach = 64 },
  tokens = "300B",
  strategies = { ddp { optimizer = "adam" } },
}
