-- A field in zip{} and beside it, in one section: which one counts?
return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  strategies = { megatron { tensor_parallel = { 1, 2 }, zip { tensor_parallel = { 4, 8 }, pipeline_parallel = { 2, 1 } } } },
}
