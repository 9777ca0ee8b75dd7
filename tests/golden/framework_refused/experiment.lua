-- Everything that a framework does not support is refused in the plan, at once.
return experiment {
  name = "framework_refused",
  model = "bloom-7b",
  hardware = { cluster = "dgx-a100", nodes = 2 },
  batch = { global_batch = 64, micro_batch = 1 },
  tokens = 300e9,
  steps = 50,
  training = { init = "/somewhere/checkpoint" },
  strategies = {
    megatron { tensor_parallel = 4, offload = "optimizer", optimizer = "adafactor", framework = "megatron-lm@0.9" },
    fsdp { framework = "torchtitan@main" },
    ddp { framework = "hf-deepspeed@4.57", compression = "fp16", args = { "--learning-rate=1", "--max_grad", "2", "--bf16" } },
    megatron { tensor_parallel = 2, framework = "torch", environment = { CUDA_LAUNCH_BLOCKING = 1 } },
  },
}
