-- FSDP beside a pipeline and tensor parallelism: 126 layers and two ends are eight stages of 16.
return experiment {
  name = "framework_torchtitan_pipeline",
  model = "llama-3.1-405b",
  hardware = { cluster = "dgx-h100", nodes = 64 },
  batch = { global_batch = 256 },
  tokens = 300e9,
  steps = 50,
  strategies = { fsdp { tensor_parallel = 8, pipeline_parallel = 8, recompute = "full", micro_batch = 1,
                        framework = "torchtitan@0.2.2", launch = "node" } },
}
