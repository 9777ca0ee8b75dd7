-- A model with a swept depth; the width follows from it.
return experiment {
  name = "derived_model",
  model = gpt {
    layers = { 24, 32 },
    hidden = function(r) return r.layers * 128 end,
    heads = function(r) return r.hidden // 128 end,
    vocab = 50257,
    seq = 2048,
  },
  hardware = { cluster = "dgx-a100", gpus = 8 },
  batch = { global_batch = 64 },
  strategies = { fsdp {} },
}
