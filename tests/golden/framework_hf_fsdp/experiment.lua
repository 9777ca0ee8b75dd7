return experiment {
  name = "framework_hf_fsdp",
  model = bloom { name = "bloom-1b", layers = 24, hidden = 1536, heads = 16, vocab = 250880, seq = 2048 },
  hardware = { cluster = "dgx-a100", nodes = 2 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  strategies = { fsdp { sharding = "grad_op", recompute = "full", micro_batch = 2, framework = "hf-fsdp@5.1" } },
}
