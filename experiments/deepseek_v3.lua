-- DeepSeek-V3 (671B, 37B for a token) on 256 nodes of 8 H100: experts dealt to 64 ranks. As in its report,
-- a token is sent to four nodes at most, once each, under the work of another micro-batch.
return experiment {
  name = "deepseek_v3",
  model = "deepseek-v3",
  hardware = { cluster = "dgx-h100", nodes = 256 },
  batch = { global_batch = 15360, micro_batch = 1 },
  tokens = 14.8e12,
  strategies = {
    megatron { pipeline_parallel = { 8, 16 }, expert_parallel = { 32, 64 }, zero_stage = 1,
               expert_dispatch = nodes { limit = 4 }, overlap_experts = true,
               recompute = "full", fp32_accumulate = true, dtype = { "bf16", "fp8" } },
  },
}
