return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  strategies = { ddp { micro_batch = function(r) return r[1] end } },
}
