return experiment {
  name = "small",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  batch = { accumulate = { 1, 2 } },
  training = { learning_rate = 1e-3, data = "/corpus/text" },
  strategies = { ddp { compression = "powersgd", flash_attention = false } },
}
