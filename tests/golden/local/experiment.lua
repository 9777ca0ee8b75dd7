-- Runs on this computer: no job script.
return experiment {
  name = "local",
  model = "gpt-tiny",
  hardware = { cluster = "local", gpus = { 1, 2, 4 } },
  batch = { global_batch = 8 },
  tokens = 1e6,
  steps = 20,
  strategies = { ddp { dtype = "fp32" }, megatron { tensor_parallel = { 1, 2 }, dtype = "fp32", recompute = "none" } },
}
