-- A choice with parameters of its own: none, and powersgd with two ranks, are 3 runs.
return experiment {
  name = "nested_choice",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 32 },
  batch = { global_batch = 128 },
  strategies = { ddp { compression = { "none", powersgd { rank = { 1, 4 } } }, optimizer = "adafactor" } },
}
