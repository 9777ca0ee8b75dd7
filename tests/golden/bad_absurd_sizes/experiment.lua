-- Each number is within its limits, but together they are beyond any machine.
return experiment {
  model = gpt { layers = 100000, hidden = 10000000, heads = 1000000, vocab = 100000000, seq = 100000000 },
  hardware = { cluster = "dgx-a100", gpus = 10000000 },
  batch = { global_batch = 1000000000, micro_batch = 1000000, accumulate = 100000000, data_parallel = 10000000 },
  tokens = 1e18,
  strategies = { megatron { tensor_parallel = 65536, pipeline_parallel = 65536 }, ddp {}, zero3 {}, deepspeed { stage = 1 } },
}
