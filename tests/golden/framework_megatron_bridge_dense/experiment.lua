-- Megatron-Bridge with a Llama whose rotary embeddings are scaled, samples cut over ranks and synthetic
-- tokens; what its arguments may not say is refused.
local function with(args)
  return megatron {
    tensor_parallel = 4, context_parallel = 2, sequence_parallel = true, overlap_tensor = true, zero_stage = 1, recompute = "full",
    overlap_grad_reduce = true, overlap_param_gather = true, fp32_accumulate = true, micro_batch = 1,
    framework = "megatron-bridge@0.5", args = args,
  }
end

return experiment {
  name = "framework_megatron_bridge_dense",
  model = "llama-3.1-8b",
  hardware = { cluster = "dgx-h100", nodes = 2 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  strategies = {
    with { "logger.log_params_norm=true" },
    with { "train.micro_batch_size=2" },
    with { "--lr", 1e-3 },
  },
}
