-- One GPU, five programs, one table: ddp, megatron and zero3 of ours, DDP and FSDP2 of PyTorch's
-- through templates/frameworks/torch_driver.py. All begin with the same weights and read the same
-- samples, so the losses are equal as far as bf16 goes; the times are what is compared.
local function ours(options)
  options.fused_kernels = true
  return options
end

return experiment {
  name = "one_h200",
  doc = "gpt-355m on one H200: orch's trainers and PyTorch's",
  model = gpt { name = "gpt-355m", layers = 24, hidden = 1024, heads = 16, vocab = 50304, seq = 1024 },
  hardware = { cluster = "h200", gpus = 1 },
  batch = { global_batch = 32, micro_batch = 8 },
  tokens = 10e9,
  steps = 30,
  training = { warmup_steps = 10 },
  strategies = {
    ddp(ours {}),
    megatron(ours { recompute = "none", fp32_accumulate = true }),
    zero3(ours {}),
    ddp { framework = "torch" },
    fsdp { framework = "torch", reduce_dtype = "fp32" },
  },
}
