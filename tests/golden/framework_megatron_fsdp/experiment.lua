-- Megatron-FSDP: gradients in shards, and weights too.
return experiment {
  name = "framework_megatron_fsdp",
  model = llama { layers = 16, hidden = 2048, heads = 16, vocab = 50304, seq = 2048 },
  hardware = { cluster = "dgx-a100", nodes = 2 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  training = { data = "/data/text_document" },
  strategies = { megatron { engine = "megatron", zero_stage = 3, recompute = "none", fp32_accumulate = true,
                            flash_attention = true, framework = "megatron-lm@0.16", micro_batch = 1 } },
}
