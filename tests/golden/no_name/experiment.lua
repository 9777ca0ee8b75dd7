-- Without a name the experiment is named after its file; without tokens it trains on 100B.
return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  strategies = ddp { micro_batch = 4 },
}
