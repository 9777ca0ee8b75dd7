-- Invalid days, and invalid shares of the time.
return experiment {
  name = "bad_dates",
  start = "2026-02-30",
  availability = 90,
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 4 },
  batch = { global_batch = 64 },
  tokens = 1e9,
  budget = { deadline = 20270601, dedline = "2027-06-01" },
  strategies = { ddp {} },
}
