-- Choices, presets and fields in places that have no use for them.
return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = powersgd { rank = 4 }, gpus = ddp {}, environment = { "A=1" }, options = { exclusive = true } },
  batch = { rampup = { 192, 16, 9765625 }, micro_batch = powersgd {} },
  budget = { 3e6 },
  strategies = { ddp { compression = powersgd { 4 }, 7 }, ddp { compression = powersgd { rank = 4 }, powersgd_rank = 8 } },
}
