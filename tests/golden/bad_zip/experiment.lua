return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8, zip {} },
  batch = { zip { global_batch = { 8, 16 }, micro_batch = { 1, 2, 3 } } },
  strategies = { megatron { zip { tensor_parallel = { 1, 2 }, pipeline_parallel = function(r) return 1 end } } },
}
