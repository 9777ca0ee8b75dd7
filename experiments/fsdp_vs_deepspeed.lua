-- FSDP or DeepSpeed, and which stage? For a 7B on 8 to 64 A100, as the frameworks themselves do it.
-- fsdp_vs_deepspeed_here.lua asks the same of this machine, and trains.
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
