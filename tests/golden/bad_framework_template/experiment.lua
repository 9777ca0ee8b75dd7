-- Templates with errors while they render: each run is refused, with the file and the line.
return experiment {
  name = "bad_framework_template",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 2 },
  batch = { global_batch = 64, micro_batch = 1 },
  tokens = 300e9,
  strategies = { ddp { framework = "slip" }, ddp { framework = "wrong" }, ddp { framework = "endless" } },
}
