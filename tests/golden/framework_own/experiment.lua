-- A template of one's own beside the experiment, for a program of one's own.
return experiment {
  name = "framework_own",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 1 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  strategies = { ddp { micro_batch = 2, framework = "mine", args = { "--odd", "a 'b' $HOME" } } },
}
