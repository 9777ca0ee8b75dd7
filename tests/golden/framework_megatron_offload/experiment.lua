-- Megatron-LM's activations are offloaded to the host: the inputs of modules.
return experiment {
  name = "framework_megatron_offload",
  model = llama { layers = 16, hidden = 2048, heads = 16, vocab = 50304, seq = 2048 },
  hardware = { cluster = "dgx-a100", nodes = 2 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  training = { data = "/data/text_document" },
  strategies = { megatron { engine = "megatron", pipeline_parallel = 2, recompute = "none", fp32_accumulate = true,
                            flash_attention = true, offload_activations = true, offload_modules = "core_attn+attn_proj",
                            framework = "megatron-lm@0.16", micro_batch = 1 } },
}
