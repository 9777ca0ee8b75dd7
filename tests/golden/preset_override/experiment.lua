-- With seq = 1024 it is still bloom-7b; with 31 layers it is another model, named after its size.
return experiment {
  name = "preset_override",
  model = { "bloom-7b", preset("bloom-7b", { seq = 1024 }), preset("bloom-7b", { layers = 31 }) },
  hardware = { cluster = "dgx-a100", gpus = 16 },
  batch = { global_batch = 64 },
  strategies = { fsdp { recompute = "full" } },
}
