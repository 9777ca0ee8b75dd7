-- The part of space.lua in which every configuration passes its check.
return experiment {
  name = "priced",
  model = gpt { layers = 72, hidden = 14336, heads = 64, vocab = 250880, seq = 2048 },
  hardware = { cluster = "jean-zay", partition = "a100-80g", gpus = 384 },
  batch = { global_batch = 2048 },
  tokens = 300e9,
  strategies = {
    megatron { pipeline_parallel = { 3, 6, 12, 24 }, fp32_accumulate = { true, false },
               flash_attention = { true, false }, optimizer = { "adamw", "adafactor" } },
  },
}
