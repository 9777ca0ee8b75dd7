-- Megatron-Bridge with latent attention, experts on whole nodes, uneven stages and 8 bits.
return experiment {
  name = "framework_megatron_bridge",
  model = "deepseek-v3",
  hardware = { cluster = "dgx-h100", nodes = 128 },
  batch = { global_batch = 2048, micro_batch = 1 },
  tokens = 300e9,
  steps = 50,
  training = { data = "/data/text_document" },
  strategies = {
    megatron {
      engine = "megatron", pipeline_parallel = 8, expert_parallel = 64, expert_dispatch = "nodes", nodes_limit = 4,
      stage_layers = "7,8,8,8,8,8,8,6", zero_stage = 1, dtype = "fp8", recompute = "selective", recompute_modules = "mla_up_proj+mlp",
      cross_entropy = "fused", fp32_accumulate = true, flash_attention = true, framework = "megatron-bridge@0.6",
      args = { "model.moe_aux_loss_coeff=1e-4", "mixed_precision.fp8_recipe=blockwise" },
    },
  },
}
