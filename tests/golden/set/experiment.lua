-- The arguments have the effect of the same text in the file.
return experiment {
  name = "set",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 1 },
  batch = { global_batch = 64 },
  strategies = { fsdp {}, megatron { tensor_parallel = 2 }, fsdp { recompute = "full" } },
}
