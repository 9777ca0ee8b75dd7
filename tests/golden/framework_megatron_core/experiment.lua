-- megatron.core by our driver, and what it refuses.
return experiment {
  name = "framework_megatron_core",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 2 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  strategies = {
    megatron { tensor_parallel = 2, pipeline_parallel = 2, zero_stage = 1, micro_batch = 2, framework = "megatron-core@0.16" },
    megatron { pipeline_parallel = 4, interleave = 2, micro_batch = 2, framework = "megatron-core@0.16.1" },
    fsdp { micro_batch = 2, framework = "megatron-core@0.16" },
  },
}
