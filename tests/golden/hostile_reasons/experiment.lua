return experiment {
  name = "hostile_reasons",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  strategies = { ddp {} },
  constraints = {
    ["na\27[2Jme\n"] = function(r) return "wh\27[2Jy\nnot" end,
    ["an error"] = function(r) error("bo\27[2Jom\nsecond line") end,
    ["an unknown field"] = function(r) return r["x\27[2J\n"] end,
  },
}
