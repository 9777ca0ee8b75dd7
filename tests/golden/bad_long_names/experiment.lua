return experiment {
  name = string.rep("a", 300),
  model = gpt { name = string.rep("b", 101), layers = 2, hidden = 64, heads = 2, vocab = 128, seq = 32 },
  hardware = { cluster = "dgx-a100", gpus = 8 },
  doc = "x",
  strategies = { ddp { optimizer = string.rep("c", 100000) } },
}
