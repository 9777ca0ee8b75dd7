-- FSDP or DeepSpeed, and which stage? For a 7B on 8 to 64 A100, as the frameworks themselves do it.
-- (strategies.lua trains a small model by all of them, with our own trainers, on this machine.)
return experiment {
  name = "fsdp_vs_deepspeed",
  doc = "bloom-7b by FSDP and by DeepSpeed's stages, 100B tokens",
  model = "bloom-7b",
  hardware = { cluster = "jean-zay", partition = "a100-80g", gpus = { 8, 16, 32, 64 } },
  batch = { global_batch = 512, micro_batch = { 1, 2, 4 } },
  tokens = 100e9,
  strategies = {
    fsdp { engine = "framework", sharding = { "full", "grad_op", "hybrid" }, recompute = { "none", "full" } },
    deepspeed { engine = "framework", stage = { 1, 2, 3 }, recompute = { "none", "full" } },
  },
}
