-- DeepSpeed's fork of Megatron in ZeRO's stage 2.
return experiment {
  name = "framework_megatron_deepspeed",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 2 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  training = { data = "/data/text_document" },
  strategies = { deepspeed { stage = 2, offload = "optimizer", recompute = "full", micro_batch = 2, fused_kernels = true,
                             framework = "megatron-deepspeed@0.16" } },
}
