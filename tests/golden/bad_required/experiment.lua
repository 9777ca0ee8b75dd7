return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  strategies = { deepspeed { micro_batch = 1 } },
}
