-- DeepSeek-V3 (671B, 37B for a token) on 256 nodes of 8 H100: experts dealt to 64 ranks. As in its report,
-- a token is sent to four nodes at most, once each, under the work of another micro-batch; and norms, the
-- up-projections of attention and what is between an expert's products are computed again. There it took
-- 2.664M GPU-hours of H800. Below, what computing everything again would cost, in fp8 and bf16.
local usual = { zero_stage = 1, expert_dispatch = nodes { limit = 4 }, overlap_experts = true, fp32_accumulate = true }

local function with(more)
  for name, value in pairs(usual) do more[name] = value end
  return megatron(more)
end

return experiment {
  name = "deepseek_v3",
  model = "deepseek-v3",
  hardware = { cluster = "dgx-h100", nodes = 256 },
  batch = { global_batch = 15360, micro_batch = 1 },
  tokens = 14.8e12,
  strategies = {
    with { engine = "megatron", pipeline_parallel = 16, expert_parallel = 64, dtype = "fp8",
           stage_partition = "transformer|embedding",
           recompute = "selective", recompute_modules = "layernorm+mla_up_proj+moe_act" },
    with { pipeline_parallel = { 8, 16 }, expert_parallel = { 32, 64 }, recompute = "full",
           dtype = { "bf16", "fp8" } },
  },
}
