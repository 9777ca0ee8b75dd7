-- A limit that nothing can be compared with is not kept: no shipped cluster has a price, the CPU no watts.
return experiment {
  name = "rejected_prices",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 4 },
  batch = { global_batch = 128 },
  tokens = 26e9,
  budget = { money = 1000, energy_kwh = 1e6, co2_kg = 1e6 },
  strategies = { ddp {} },
}
