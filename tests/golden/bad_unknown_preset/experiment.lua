return experiment {
  model = preset("gpt-103b", { seq = 1024 }),
  hardware = { cluster = "dgx-a100", gpus = 8 },
  strategies = { ddp {} },
}
