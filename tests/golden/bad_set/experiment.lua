-- Errors in the command line's arguments, which are named.
return experiment {
  name = "bad_set",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 1 },
  batch = { global_batch = 64 },
  strategies = { fsdp {}, megatron { tensor_parallel = 2 }, fsdp { recompute = "full" } },
}
