return experiment {
  name = "bad_calendar",
  model = "gpt-13b",
  hardware = { cluster = "dgx-a100", nodes = 16 },
  availability = {
    { from = "2027-02-01", nodes = 1.5 },
    { from = "2027-01-01", share = 2 },
    { form = "2027-03-01" },
    "2027-04-01",
    { from = "2027-02-30" },
  },
  repeats = 0,
  strategies = { fsdp {} },
}
