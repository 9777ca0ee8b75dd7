-- DeepSpeed by our driver: its configuration, and what it refuses.
return experiment {
  name = "framework_deepspeed",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 2 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  strategies = {
    deepspeed { stage = 3, offload = "optimizer", micro_batch = 2, framework = "deepspeed@0.19" },
    deepspeed { stage = 2, offload = "full", micro_batch = 2, framework = "deepspeed@0.19" },
    deepspeed { stage = 1, micro_batch = 2, prefetch = 2, framework = "deepspeed@0.19" },
    deepspeed { stage = 1, micro_batch = 2, framework = "torch" },
    ddp { micro_batch = 2, framework = "deepspeed@0.19" },
  },
}
