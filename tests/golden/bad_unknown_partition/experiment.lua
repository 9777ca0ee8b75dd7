return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = "jean-zay", partition = { "v100-32", "a100" }, gpus = 8 },
  strategies = { ddp {} },
}
