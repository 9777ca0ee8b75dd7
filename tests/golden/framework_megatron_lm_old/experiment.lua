-- The oldest version that is known: other flags for the same run.
return experiment {
  name = "framework_megatron_lm_old",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 4 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  training = { data = "/data/text_document" },
  strategies = { megatron { pipeline_parallel = 4, interleave = 2, flash_attention = true, fused_kernels = false,
                            framework = "megatron-lm@0.4", micro_batch = 1 } },
}
