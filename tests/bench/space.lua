-- The space for which other searches publish times: a 72 x 14336 on 384 A100, every strategy.
return experiment {
  name = "space",
  model = gpt { layers = 72, hidden = 14336, heads = 64, vocab = 250880, seq = 2048 },
  hardware = { cluster = "jean-zay", partition = "a100-80g", gpus = 384 },
  batch = { global_batch = 2048 },
  tokens = 300e9,
  strategies = { megatron {}, deepspeed { stage = 1 }, fsdp {}, ddp {} },
}
