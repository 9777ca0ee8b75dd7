-- A cluster whose name comes from a function is searched in each run.
return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = function(r) return "dgx-" .. r.model end, gpus = { 8, 16 } },
  strategies = { ddp {} },
}
