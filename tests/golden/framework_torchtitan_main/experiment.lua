return experiment {
  name = "framework_torchtitan_main",
  model = "llama-3-8b",
  hardware = { cluster = "dgx-h100", nodes = 2 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  strategies = { megatron { tensor_parallel = 2, pipeline_parallel = 4, sequence_parallel = true, micro_batch = 1,
                            framework = "torchtitan@main" } },
}
