return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = { 8, 16 } },
  strategies = { ddp {} },
  constraints = {
    ["returns nothing"] = function(r) r = r.gpus > 8 end,
    ["returns a number"] = function(r) return r.gpus end,
    ["fails"] = function(r) return r.gpu > 8 end,
  },
}
