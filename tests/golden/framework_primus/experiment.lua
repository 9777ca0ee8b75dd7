-- Primus on AMD's GPUs: latent attention, experts, 8 bits and uneven stages as settings of its Megatron.
return experiment {
  name = "framework_primus",
  model = "deepseek-v3",
  hardware = { cluster = "mi300x", nodes = 128 },
  batch = { global_batch = 2048, micro_batch = 1 },
  tokens = 300e9,
  steps = 50,
  training = { data = "/data/text_document", checkpoint_every = 25 },
  strategies = {
    megatron { tensor_parallel = 8, sequence_parallel = true, pipeline_parallel = 8, stage_layers = "7,8,8,8,8,8,8,6",
               expert_parallel = 8, framework = "primus@26.2", args = { "lr=1", "--moe-router-topk", 2 } },
    megatron {
      pipeline_parallel = 8, expert_parallel = 64, expert_dispatch = "nodes", nodes_limit = 4, stage_layers = "7,8,8,8,8,8,8,6",
      zero_stage = 1, dtype = "fp8", recompute = "selective", recompute_modules = "mla_up_proj+mlp", cross_entropy = "fused",
      fp32_accumulate = true, flash_attention = true, framework = "primus@26.5", args = { "moe_aux_loss_coeff=1e-4", "--fp8_recipe=blockwise" },
      environment = { PRIMUS = "/opt/primus" },
    },
  },
}
