return experiment {
  name = "deadline_before_start",
  start = "2027-06-02",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 4 },
  batch = { global_batch = 64 },
  tokens = 1e9,
  budget = { deadline = "2027-06-01" },
  strategies = { ddp {} },
}
