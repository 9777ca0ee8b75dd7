-- A Llama on the same samples: ours, torchtitan and megatron.core, whose first weights are their own.
return experiment {
  name = "llama",
  model = llama { name = "small", layers = 2, hidden = 128, heads = 4, kv_heads = 2, vocab = 512, seq = 64 },
  hardware = { cluster = "local", gpus = 2 },
  batch = { global_batch = 8, micro_batch = 2 },
  steps = 8,
  training = { learning_rate = 1e-3, warmup_steps = 2, clip = 0.5 },
  strategies = {
    zero3 { dtype = "fp32" },
    fsdp { dtype = "fp32", framework = "torchtitan@0.2.2" },
    fsdp { dtype = "fp32", framework = "torchtitan@0.2.2", sharding = "grad_op", recompute = "full" },
    megatron { dtype = "fp32", tensor_parallel = 2, sequence_parallel = false, framework = "megatron-core@0.16" },
    megatron { dtype = "bf16", zero_stage = 1, framework = "megatron-core@0.16" },
  },
}
