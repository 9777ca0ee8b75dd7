-- Modules that Megatron-LM recomputes, as a list.
return experiment {
  name = "framework_megatron_modules",
  model = llama { layers = 16, hidden = 2048, heads = 16, vocab = 50304, seq = 2048 },
  hardware = { cluster = "dgx-a100", nodes = 2 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  training = { data = "/data/text_document" },
  strategies = { megatron { engine = "megatron", recompute = "selective", recompute_modules = "layernorm+mlp",
                            fp32_accumulate = true, flash_attention = true, framework = "megatron-lm@0.14", micro_batch = 1 } },
}
