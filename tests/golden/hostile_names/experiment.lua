return experiment {
  name = "../../etc/$(touch owned)",
  model = gpt { name = "-rf `touch owned`", layers = 24, hidden = 2048, heads = 16, vocab = 50257, seq = 2048 },
  hardware = { cluster = "../gpus", gpus = 8 },
  strategies = { ddp {} },
}
