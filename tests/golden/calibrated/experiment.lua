-- Fitted constants name their rows, and narrow the ranges: two strategies tie, one does not.
return experiment {
  name = "calibrated",
  model = "gpt-1.3b",
  hardware = { cluster = "fitted-cluster", nodes = 4 },
  batch = { global_batch = 128 },
  tokens = 100e9,
  strategies = { ddp { micro_batch = { 1, 4 } }, deepspeed { stage = { 1, 3 }, micro_batch = 4 } },
}
