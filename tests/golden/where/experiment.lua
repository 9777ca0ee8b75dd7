return experiment {
  name = "where",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = { 8, 16 } },
  batch = { global_batch = 128 },
  strategies = { megatron { tensor_parallel = { 1, 2 } }, ddp { compression = powersgd { rank = 4 } } },
}
