return experiment {
  name = 7,
  doc = 12,
  strict = "yes",
  model = 1300000000,
  hardware = "jean-zay",
  batch = 512,
  tokens = "many",
  steps = 1.5,
  budget = 3e6,
  strategies = "megatron",
  constraints = function(r) return true end,
}
