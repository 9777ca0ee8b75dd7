-- A parameter of a choice that was not taken would be silently ignored.
return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  strategies = { ddp { powersgd_rank = 4 } },
}
