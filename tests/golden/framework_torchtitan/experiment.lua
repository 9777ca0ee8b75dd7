return experiment {
  name = "framework_torchtitan",
  model = "llama-3-8b",
  hardware = { cluster = "dgx-h100", nodes = 2 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  strategies = { fsdp { sharding = "hybrid", recompute = "selective", micro_batch = 1, framework = "torchtitan@0.2.2",
                        launch = "node" } },
}
