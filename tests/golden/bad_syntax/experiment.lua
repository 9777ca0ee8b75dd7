return experiment {
  name = "bad_syntax",
  model = "gpt-1.3b"
  hardware = { cluster = "dgx-a100", gpus = 8 },
}
