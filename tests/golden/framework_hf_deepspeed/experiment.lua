return experiment {
  name = "framework_hf_deepspeed",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 2 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  training = { warmup_steps = 10, checkpoint_every = 20 },
  strategies = { deepspeed { stage = 3, offload = "full", recompute = "full", micro_batch = 2,
                             framework = "hf-deepspeed@4.57" } },
}
