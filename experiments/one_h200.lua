-- One GPU, six programs, one table: trainers of ours, and PyTorch, DeepSpeed, Hugging Face's Trainer and
-- megatron.core through templates/frameworks. All begin with the same weights and read the same samples, so the
-- losses are equal as far as bf16 goes; the times are what is compared. `--again` adds a repeat.
local function ours(options)
  options.fused_kernels = true
  return options
end

return experiment {
  name = "one_h200",
  doc = "gpt2-774m on one H200: FSDP, DeepSpeed, DDP and Megatron, orch's own and the others'",
  model = gpt { name = "gpt2-774m", layers = 36, hidden = 1280, heads = 20, vocab = 50304, seq = 1024 },
  hardware = { cluster = "h200", gpus = 1 },
  batch = { global_batch = 16, micro_batch = 8 },
  tokens = 10e9,
  steps = 30,
  training = { warmup_steps = 10, keep_checkpoints = 0 },
  strategies = {
    ddp(ours {}),
    megatron(ours { recompute = "none", fp32_accumulate = true }),
    zero3(ours {}),
    zero3(ours { offload = "optimizer" }),
    ddp { framework = "torch" },
    ddp { framework = "torch", args = { "--compile" } },
    fsdp { framework = "torch", reduce_dtype = "fp32" },
    fsdp { framework = "torch", reduce_dtype = "fp32", args = { "--compile" } },
    fsdp { framework = "hf-fsdp@5" },
    deepspeed { framework = "deepspeed@0.19", stage = { 1, 2, 3 } },
    deepspeed { framework = "deepspeed@0.19", stage = 3, offload = "full" },
    megatron { framework = "megatron-core@0.16", recompute = "none" },
  },
}
