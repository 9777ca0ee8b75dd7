-- A cluster that a function names is looked for in each run.
return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = function(r) return "dgx-" .. r.model end, gpus = { 8, 16 } },
  strategies = { ddp {} },
}
