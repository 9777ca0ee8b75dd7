-- torchtitan with 8 bits and samples cut over ranks; experts and main's fp8 are refused by name.
return experiment {
  name = "framework_torchtitan_fp8",
  model = { "llama-3-8b", "mixtral-8x7b" },
  hardware = { cluster = "dgx-h100", nodes = 2 },
  batch = { global_batch = 64, micro_batch = 1 },
  tokens = 300e9,
  steps = 50,
  strategies = {
    fsdp { context_parallel = 2, dtype = "fp8", recompute = "selective", framework = "torchtitan@0.2.2", args = { "--compile.enable" } },
    fsdp { dtype = "fp8", recompute = "full", framework = "torchtitan@main" },
  },
}
