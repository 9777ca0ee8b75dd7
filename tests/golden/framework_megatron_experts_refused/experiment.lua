-- What Megatron-LM cannot do with experts, long samples and 8 bits is refused by its name.
local function on(settings)
  settings.engine, settings.flash_attention = "megatron", true
  return megatron(settings)
end

return experiment {
  name = "framework_megatron_experts_refused",
  model = { "deepseek-v3", "qwen3-30b-a3b" },
  hardware = { cluster = "dgx-h100", nodes = 16 },
  batch = { global_batch = 512, micro_batch = 1 },
  tokens = 300e9,
  steps = 50,
  strategies = {
    on { expert_parallel = 8, framework = "megatron-lm@0.9" },
    on { expert_parallel = 8, cuda_graphs = "all", mtp_layers = 1, dropout_masks = "yes", framework = "megatron-lm@0.19" },
    on { expert_parallel = 8, expert_dispatch = "nodes", framework = "megatron-lm@0.10" },
    on { tensor_parallel = 2, expert_parallel = 8, recompute = "full", overlap_experts = true, framework = "megatron-lm@0.13" },
    on { pipeline_parallel = 2, expert_parallel = 16, expert_dispatch = "nodes", nodes_limit = 4, interleave = 1,
         partition_rule = "costs", framework = "megatron-lm@0.19", args = { "--num-experts", 64, "--context-parallel-size=2" } },
  },
}
