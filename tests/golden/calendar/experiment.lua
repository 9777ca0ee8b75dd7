-- Few nodes at first, more later: a run waits for its nodes, and one that begins on fewer does not.
return experiment {
  name = "calendar",
  model = "gpt-13b",
  hardware = { cluster = "dgx-a100", nodes = { 16, 48, 64 } },
  batch = { global_batch = 1536 },
  tokens = 300e9,
  budget = { deadline = "2027-03-20" },
  availability = {
    { from = "2027-01-01", nodes = 18 },
    { from = "2027-02-15", nodes = 48, share = 0.8 },
  },
  strategies = { fsdp {} },
}
