-- One limit of money cannot be compared with prices in two currencies.
return experiment {
  name = "bad_currencies",
  model = "gpt-1.3b",
  hardware = { cluster = { "euros", "dollars" }, nodes = 4 },
  batch = { global_batch = 128 },
  tokens = 26e9,
  budget = { money = 100000 },
  strategies = { ddp {} },
}
