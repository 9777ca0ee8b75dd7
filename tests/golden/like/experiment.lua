-- A cluster in five lines: all other values are dgx-h100's.
return experiment {
  name = "like",
  model = "gpt-13b",
  hardware = { cluster = "ours", nodes = { 24, 25 } },
  batch = { global_batch = 1536 },
  strategies = { fsdp {} },
}
