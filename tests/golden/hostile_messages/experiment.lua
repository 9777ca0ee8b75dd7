-- Users' texts in messages neither move the cursor nor break a line.
return experiment {
  ["fie\27[2Jld\n"] = 1,
  model = "mo\27[2Jdel\n",
  hardware = { cluster = "dgx-a100", gpus = 8, ["x\ny"] = 1 },
  batch = { ["b\27"] = 1, rampup = { ["r\27"] = 1 } },
  budget = { ["c\27"] = 1 },
  strategies = { ddp { ["d\27"] = 1, compression = "e\27[2J\n" } },
  constraints = { ["f\27[2J\n"] = 5 },
}
