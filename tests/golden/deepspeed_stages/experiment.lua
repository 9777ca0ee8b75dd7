return experiment {
  name = "deepspeed_stages",
  model = "bloom-7b",
  hardware = { cluster = "dgx-a100", gpus = 16 },
  batch = { global_batch = 64 },
  strategies = { deepspeed { stage = { 1, 2, 3 }, recompute = "full" }, deepspeed { stage = 3, offload = "optimizer" } },
}
