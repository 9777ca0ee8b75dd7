-- Megatron-LM with experts folded over tensor-parallel ranks, whose tokens travel under other products,
-- and with samples cut over ranks. The recipe of fp8 is an argument.
return experiment {
  name = "framework_megatron_context",
  model = "qwen3-30b-a3b",
  hardware = { cluster = "dgx-h100", nodes = 2 },
  batch = { global_batch = 64, micro_batch = 1 },
  tokens = 300e9,
  steps = 50,
  strategies = {
    megatron {
      engine = "megatron", tensor_parallel = 2, context_parallel = 2, expert_parallel = 8, expert_tensor_parallel = 1,
      sequence_parallel = true, overlap_experts = true, zero_stage = 1, dtype = "fp8", recompute = "none", fp32_accumulate = true,
      flash_attention = true, framework = "megatron-lm@0.16", args = { "--fp8-recipe", "blockwise", "--cp-comm-type", "a2a" },
    },
  },
}
