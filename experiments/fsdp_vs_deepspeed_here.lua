-- FSDP or DeepSpeed, and which stage? Of a model that four CPU ranks of this machine can train, by our
-- own trainers: each does what its name means, so what differs is what is sharded, kept and sent.
return experiment {
  name = "fsdp_vs_deepspeed_here",
  doc = "gpt-tiny by FSDP and by DeepSpeed's stages on four CPU ranks of this machine",
  model = "gpt-tiny",
  hardware = { cluster = "local", gpus = 4 },
  batch = { global_batch = 16, micro_batch = { 1, 4 } },
  tokens = 1e6,
  steps = 30,
  training = { learning_rate = 1e-3, min_learning_rate = 1e-4, warmup_steps = 5, seed = 1 },
  strategies = {
    fsdp { dtype = "fp32", sharding = { "full", "grad_op", hybrid { shard_group = 2 } } },
    deepspeed { dtype = "fp32", stage = { 1, 2, 3 } },
  },
}
