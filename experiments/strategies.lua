-- One small model trained for real by every strategy on four CPU ranks of this machine, from the same
-- first weights and with the same samples: a step is 16 of them everywhere. What is exact comes to
-- the same loss; what differs is time, memory and traffic, measured beside estimated.
local function layout(options)
  options.dtype, options.recompute, options.fused_kernels = "fp32", "none", false
  return megatron(options)
end
local function sharded(strategy, options)
  options.dtype = "fp32"
  return strategy(options)
end

return experiment {
  name = "strategies",
  doc = "gpt-tiny on four CPU ranks of this machine, by every strategy that trains",
  model = "gpt-tiny",
  hardware = { cluster = "local", gpus = 4 },
  batch = { global_batch = 16, micro_batch = 2 },
  tokens = 1e6,
  steps = 20,
  training = { learning_rate = 1e-3, min_learning_rate = 1e-4, warmup_steps = 5, seed = 1 },
  strategies = {
    ddp { dtype = "fp32" },
    ddp { dtype = "fp32", compression = powersgd { rank = 2 } },
    layout { tensor_parallel = 2 },
    layout { tensor_parallel = 2, sequence_parallel = true },
    layout { tensor_parallel = 2, zero_stage = 1 },
    layout { pipeline_parallel = 2 },
    layout { pipeline_parallel = 2, interleave = 2 },
    layout { tensor_parallel = 2, pipeline_parallel = 2 },
    sharded(deepspeed, { stage = 1 }),
    sharded(deepspeed, { stage = 2 }),
    sharded(zero3, {}),
    sharded(fsdp, {}),
    sharded(fsdp, { sharding = "grad_op" }),
    sharded(fsdp, { sharding = "hybrid", hybrid_shard_group = 2 }),
    sharded(deepspeed, { stage = 2, offload = "optimizer" }),
    sharded(zero3, { offload = "full" }),
  },
}
