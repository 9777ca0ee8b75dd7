-- One GPT on two ranks without a GPU, by our trainers and by the real programs: all begin with the
-- same weights and read the same samples.
local function fp32(options)
  options.dtype = "fp32"
  return options
end

return experiment {
  name = "gpt",
  model = gpt { name = "small", layers = 2, hidden = 128, heads = 4, vocab = 512, seq = 64 },
  hardware = { cluster = "local", gpus = 2 },
  batch = { global_batch = 8, micro_batch = 2 },
  steps = 8,
  training = { learning_rate = 1e-3, warmup_steps = 2, clip = 0.5 },
  strategies = {
    ddp(fp32 {}),
    zero3(fp32 {}),
    megatron(fp32 { tensor_parallel = 2 }),
    ddp(fp32 { framework = "torch" }),
    fsdp(fp32 { framework = "torch" }),
    fsdp(fp32 { framework = "torch", args = { "--compile" } }),
    deepspeed(fp32 { stage = 1, framework = "deepspeed@0.19" }),
    deepspeed(fp32 { stage = 2, framework = "deepspeed@0.19" }),
    deepspeed(fp32 { stage = 3, framework = "deepspeed@0.19" }),
    deepspeed(fp32 { stage = 3, offload = "full", framework = "deepspeed@0.19" }),
    deepspeed(fp32 { stage = 2, framework = "hf-deepspeed@5" }),
    deepspeed(fp32 { stage = 3, framework = "hf-deepspeed@5" }),
    fsdp(fp32 { framework = "hf-fsdp@5" }),
    megatron(fp32 { zero_stage = 1, framework = "megatron-core@0.16" }),
    megatron(fp32 { tensor_parallel = 2, sequence_parallel = false, framework = "megatron-core@0.16" }),
    megatron(fp32 { pipeline_parallel = 2, framework = "megatron-core@0.16" }),
  },
}
