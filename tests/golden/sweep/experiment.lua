-- Lists multiply: 2 x 2 x 2 runs.
return experiment {
  name = "sweep",
  doc = "a cartesian product",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = { 8, 16 } },
  batch = { global_batch = 128 },
  strategies = { megatron { tensor_parallel = { 1, 2 }, micro_batch = { 1, 2 } } },
}
