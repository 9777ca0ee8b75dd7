-- The product of three numbers that are each within their limits.
return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  batch = { micro_batch = 1000000, accumulate = 100000000 },
  strategies = { ddp {}, zero3 {}, megatron { tensor_parallel = 8 } },
}
