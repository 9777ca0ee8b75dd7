-- zip{} pairs its lists, so there are 3 runs and not 9.
return experiment {
  name = "zip",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 32 },
  batch = { global_batch = 256 },
  strategies = { megatron { zip { tensor_parallel = { 1, 2, 4 }, pipeline_parallel = { 4, 2, 1 } } } },
}
